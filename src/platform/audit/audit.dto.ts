import {
  Id,
  Input,
  integer,
  list,
  nullable,
  oneOf,
  pageFields,
  schema,
  sheetOf,
  Text,
  text,
  time,
  TimeRangeField,
  View,
  Whole,
} from '../http/index.js';

export class AuditListQuery extends Input({
  ...pageFields(
    'id',
    'actorId',
    'actorName',
    'action',
    'targetType',
    'targetId',
    'ip',
    'requestId',
    'createTime',
  ),
  action: Text({ optional: true, max: 40, example: 'login' }),
  targetType: Text({ optional: true, max: 40, example: 'provider' }),
  targetId: Text({ optional: true, max: 64 }),
  actorId: Id({ optional: true }),
  actorName: Text({ optional: true, max: 64, description: 'Part of the name' }),
  ip: Text({ optional: true, max: 64, description: 'Part of the address' }),
  params: TimeRangeField(),
}) {}

export class AuditEntryView extends View({
  id: integer({ example: 1 }),
  actorId: nullable(integer({ description: 'null when the request had no sign-in' })),
  actorName: nullable(text({ example: 'admin' })),
  action: text({ example: 'update' }),
  targetType: text({ example: 'provider' }),
  targetId: nullable(text({ example: '12' })),
  targetName: nullable(
    text({
      example: 'Example AI',
      description:
        'The name that the record has now; null for one that is deleted, for a knowledge base that is not shared, and for kinds without a name',
    }),
  ),
  detail: schema<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    example: { status: 1 },
  }),
  ip: nullable(text({ example: '127.0.0.1' })),
  requestId: nullable(text({ description: 'The X-Request-Id of the answer' })),
  createTime: time(),
}) {}

export class AuditVerifyQuery extends Input({
  after: Whole({
    optional: true,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Number of the entry after which to begin; the begin of the chain by default',
  }),
}) {}

export class ChainProblemView extends View({
  kind: oneOf(['changed', 'removed', 'inserted']),
  number: nullable(integer({ description: 'Number in the chain; null for an entry without one' })),
  entryId: nullable(integer({ description: 'Id of the entry; null where it is not known' })),
}) {}

export class VerificationView extends View({
  checkedCount: integer({ example: 1200 }),
  number: integer({ example: 1200, description: 'The last entry that was checked' }),
  digest: text({ description: 'Its digest, to compare with the exported copy' }),
  nextAfter: nullable(integer({ description: 'Where to continue; null at the end' })),
  problems: list(ChainProblemView, { description: 'Empty if the chain is intact; at most 100' }),
}) {}

export const auditSheet = sheetOf<AuditEntryView>('Audit log', {
  id: 'Id',
  createTime: 'Time',
  actorId: 'User id',
  actorName: 'User',
  action: 'Action',
  targetType: 'Record type',
  targetId: 'Record',
  targetName: 'Record name',
  detail: 'Detail',
  ip: 'Address',
  requestId: 'Request',
});
