import { ApiProperty } from '@nestjs/swagger';
import type { HarnessMessage } from '../../store/message.entity.js';

const SCHEMA_VERSION = 1;

export class HarnessToolCallView {
  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ example: 'activate_skill' })
  toolName: string;

  @ApiProperty({ description: 'JSON, as the model wrote it' })
  arguments: string;
}

export class HarnessMessageUsageView {
  @ApiProperty({ type: 'integer', required: false })
  inputTokens?: number;

  @ApiProperty({ type: 'integer', required: false })
  outputTokens?: number;

  @ApiProperty({ type: 'integer', required: false })
  totalTokens?: number;
}

/** A message of a session as existing clients parse it. */
export class HarnessMessageView {
  @ApiProperty({ type: 'integer', example: SCHEMA_VERSION })
  schemaVersion: number;

  @ApiProperty({ format: 'uuid' })
  messageId: string;

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ type: 'integer', description: 'Counts from 1 in the session', example: 1 })
  sequence: number;

  @ApiProperty({ enum: ['USER', 'ASSISTANT', 'TOOL', 'CONTROL'] })
  role: string;

  @ApiProperty()
  content: string;

  @ApiProperty({ type: String, nullable: true })
  thinking: string | null;

  @ApiProperty({ type: [HarnessToolCallView] })
  toolCalls: readonly HarnessToolCallView[];

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Of role TOOL' })
  toolCallId: string | null;

  @ApiProperty({ type: String, nullable: true })
  toolName: string | null;

  @ApiProperty({ description: 'The tool call came to nothing' })
  toolError: boolean;

  @ApiProperty({ type: HarnessMessageUsageView, nullable: true })
  usage: HarnessMessageUsageView | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'kind (INITIAL, STEER, FOLLOW_UP …), images and what else is known',
  })
  metadata: Readonly<Record<string, unknown>>;

  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch' })
  timestamp: number;
}

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
