import {
  decimal,
  integer,
  nullable,
  object,
  oneOf,
  text,
  time,
  View,
} from '../platform/http/index.js';
import { MEASURES, SCOPES } from './limit.entity.js';

export class LimitUseView extends View({
  subjectId: nullable(
    integer({ description: 'The user, key, model or group; null for that of the tenant or a tag' }),
  ),
  subjectName: nullable(text({ example: 'admin' })),
  used: decimal({ description: 'Used by completed calls in the current period' }),
  threshold: nullable(
    integer({ description: 'The highest of 50, 80 and 100 % that was used in the period' }),
  ),
  reserved: decimal({
    description: 'The most that running calls may use; of concurrent calls, their number',
  }),
}) {}

export class LimitView extends View({
  id: integer({ example: 1 }),
  scope: oneOf(SCOPES),
  userId: nullable(integer({ description: 'null: another scope, or each user' })),
  apiKeyId: nullable(integer({ description: 'null: another scope, or each key' })),
  modelId: nullable(integer({ description: 'null: another scope, or each model' })),
  groupId: nullable(integer({ description: 'null: another scope, or each group' })),
  tag: nullable(text({ description: 'null: another scope, or each tag' })),
  name: nullable(
    text({
      example: 'admin',
      description: 'The name of the user, key, model or group, or the tag; null for all others',
    }),
  ),
  measure: oneOf(MEASURES),
  cap: decimal({ example: 1_000_000 }),
  use: nullable(
    object(LimitUseView, {
      description: 'Of a limit that each has: by who has used the most; null: nothing yet',
    }),
  ),
  periodEnd: nullable(
    time({
      description:
        'When the day or month ends; null for limits of a minute and of concurrent calls',
    }),
  ),
  createTime: time(),
}) {}
