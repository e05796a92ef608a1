import { decimal, object, oneOf, optional, schema, text, View } from '../http/index.js';

export type CheckStatus = 'up' | 'down';

export class LiveView extends View({
  status: schema<'up'>({ type: String, example: 'up' }),
}) {}

export class CheckView extends View({
  status: oneOf<CheckStatus>(['up', 'down']),
  kind: text({ description: 'What does the work in this installation', example: 'embedded' }),
  latencyMs: optional(decimal({ description: 'Absent when nothing had to be asked' })),
}) {}

export class ChecksView extends View({
  store: object(CheckView, { description: 'kind: embedded or postgresql' }),
  queue: object(CheckView, { description: 'kind: in process or redis' }),
  vectorStore: object(CheckView, { description: 'kind: pgvector, qdrant or exact' }),
}) {}

export class ReadyView extends View({
  status: oneOf<CheckStatus | 'stopping'>(['up', 'down', 'stopping']),
  checks: object(ChecksView),
}) {}
