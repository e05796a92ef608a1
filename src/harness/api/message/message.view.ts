import {
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  schema,
  text,
  uuid,
  View,
} from '../../../platform/http/index.js';
import type { HarnessMessage } from '../../store/harness.entity.js';

const SCHEMA_VERSION = 1;

export class HarnessToolCallView extends View({
  toolCallId: uuid(),
  toolName: text({ example: 'activate_skill' }),
  arguments: text({ description: 'JSON, as the model wrote it' }),
}) {}

export class HarnessMessageUsageView extends View({
  inputTokens: optional(integer()),
  outputTokens: optional(integer()),
  totalTokens: optional(integer()),
}) {}

/** A message of a session as existing clients parse it. */
export class HarnessMessageView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  messageId: uuid(),
  sessionId: uuid(),
  runId: uuid(),
  sequence: integer({ description: 'Counts from 1 in the session', example: 1 }),
  role: oneOf(['USER', 'ASSISTANT', 'TOOL', 'CONTROL']),
  content: text(),
  thinking: nullable(text()),
  toolCalls: list(HarnessToolCallView),
  toolCallId: nullable(uuid({ description: 'Of role TOOL' })),
  toolName: nullable(text()),
  toolError: flag({ description: 'The tool call came to nothing' }),
  usage: nullable(object(HarnessMessageUsageView)),
  metadata: schema<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description: 'kind (INITIAL, STEER, FOLLOW_UP …), images and what else is known',
  }),
  timestamp: integer({ description: 'Milliseconds since the epoch' }),
}) {}

export function toHarnessMessageView(message: HarnessMessage): HarnessMessageView {
  const { id, createTime, ...fields } = message;
  return {
    schemaVersion: SCHEMA_VERSION,
    messageId: id,
    sessionId: fields.sessionId,
    runId: fields.runId,
    sequence: fields.sequence,
    role: fields.role,
    content: fields.content,
    thinking: fields.thinking,
    toolCalls: fields.toolCalls,
    toolCallId: fields.toolCallId,
    toolName: fields.toolName,
    toolError: fields.toolError,
    usage: fields.usage,
    metadata: fields.metadata,
    timestamp: createTime.getTime(),
  };
}
