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
    integer({ description: 'The user, key or model; null for that of the tenant' }),
  ),
  subjectName: nullable(text({ example: 'admin' })),
  used: decimal({ description: 'In the present period, by calls that have ended' }),
  reserved: decimal({ description: 'What calls that run may use at most' }),
}) {}

export class LimitView extends View({
  id: integer({ example: 1 }),
  scope: oneOf(SCOPES),
  userId: nullable(integer({ description: 'null: another scope, or each user' })),
  apiKeyId: nullable(integer({ description: 'null: another scope, or each key' })),
  modelId: nullable(integer({ description: 'null: another scope, or each model' })),
  name: nullable(
    text({ example: 'admin', description: 'Of the user, key or model; null for all others' }),
  ),
  measure: oneOf(MEASURES),
  cap: decimal({ example: 1_000_000 }),
  use: nullable(
    object(LimitUseView, {
      description: 'Of a limit that each has: by who has used the most; null: nothing yet',
    }),
  ),
  periodEnd: nullable(
    time({ description: 'When the day or month ends; null for requests a minute' }),
  ),
  createTime: time(),
}) {}
