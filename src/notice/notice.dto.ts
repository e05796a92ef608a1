import {
  Input,
  integer,
  nullable,
  OneOf,
  oneOf,
  pageFields,
  someOf,
  Text,
  text,
  time,
  View,
} from '../platform/http/index.js';
import { TARGET_KINDS } from './notice.entity.js';

export class NoticeTargetListQuery extends Input({ ...pageFields('id', 'kind', 'createTime') }) {}

export class NewNoticeTargetDto extends Input({
  kind: OneOf(TARGET_KINDS),
  address: Text({
    min: 3,
    max: 2_000,
    example: 'https://hooks.example.com/plinth',
    description: 'The address of a webhook, or of a mailbox',
  }),
}) {}

export class NoticeTargetView extends View({
  id: integer({ example: 1 }),
  kind: oneOf(TARGET_KINDS),
  address: text({ example: 'https://hooks.example.com/plinth' }),
  lastState: nullable(
    oneOf(['waiting', 'delivered', 'failed'], {
      description: 'State of the last notice; null: none yet',
    }),
  ),
  lastTime: nullable(time({ description: 'When that was written, delivered or given up' })),
  lastError: nullable(text({ description: 'Why its last attempt failed' })),
  createTime: time(),
}) {}

export class NoticeTargetKindsView extends View({ kinds: someOf(TARGET_KINDS) }) {}

export class NewNoticeTargetView extends View({
  id: integer({ example: 1 }),
  secret: nullable(
    text({
      description:
        'whsec_…: verifies the signatures of a webhook. Keep it: it is never shown again',
    }),
  ),
}) {}
