import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import {
  AnswersArray,
  flag,
  Input,
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
  Whole,
} from '../../../platform/http/index.js';
import { MessageRepository } from '../../store/message.repository.js';
import { UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';

const SCHEMA_VERSION = 1;
const MESSAGES_PER_PAGE = 500;

/** Maximum size of one page's text, so that large messages do not fill the memory. */
const PAGE_BYTES = 16 * 1024 * 1024;

export class HarnessMessageListQuery extends Input({
  afterSequence: Whole({
    optional: true,
    min: 0,
    description: 'Number of the last message that one has',
  }),
  limit: Whole({
    optional: true,
    min: 1,
    max: 10_000,
    description: `${MESSAGES_PER_PAGE} when not given; fewer come where they are large`,
  }),
}) {}

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

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/messages')
@RequirePermission('coding:harness:use')
export class HarnessMessageController {
  constructor(
    private readonly runs: RunService,
    private readonly messages: MessageRepository,
  ) {}

  /** Messages of a session after the given number. */
  @Get()
  @AnswersArray(HarnessMessageView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Query() { afterSequence: after = 0, limit = MESSAGES_PER_PAGE }: HarnessMessageListQuery,
  ): Promise<HarnessMessageView[]> {
    const session = await this.runs.sessionOf(caller, sessionId);
    const page = await this.messages.page(session, { after, limit, bytes: PAGE_BYTES });
    return page.map((message) =>
      HarnessMessageView.of({
        ...message,
        schemaVersion: SCHEMA_VERSION,
        messageId: message.id,
        timestamp: message.createTime,
      }),
    );
  }
}
