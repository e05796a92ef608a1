import type { IncomingHttpHeaders } from 'node:http';
import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, Direct, LoginOnly } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { LargeBody, NoEnvelope, WhileConnected } from '../../platform/http/index.js';
import { reportingCall, requestIdHeader } from '../answer/answer.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { FileReferences } from '../files/file-references.js';
import { MessagesBody, TokenCountBody } from './anthropic.dto.js';
import { MESSAGE_SCHEMA, TokenCountView } from './anthropic.view.js';
import { MessagesRequest } from './messages.protocol.js';
import { MessageTokenCounts } from './message-token-counts.js';

/** The Messages interface of Anthropic for its clients: HTTP statuses and its form of errors instead of the envelope. */
@ApiTags('anthropic')
@Controller('v1/messages')
@NoEnvelope()
export class AnthropicController {
  constructor(
    private readonly answers: ApiAnswers,
    private readonly counts: MessageTokenCounts,
    private readonly files: FileReferences,
  ) {}

  /** Answers a conversation, as a stream with stream: true. Nothing is stored. */
  @Post()
  @Direct()
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({
    description: 'The message, or its events',
    content: {
      'application/json': { schema: MESSAGE_SCHEMA },
      'text/event-stream': { schema: { type: 'string' } },
    },
  })
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: MessagesBody,
    @Headers() headers: IncomingHttpHeaders,
    @Res() response: Response,
  ): Promise<void> {
    response.set(requestIdHeader());
    const request = MessagesRequest.of(await this.files.inMessages(caller, body), headers);
    await this.answers.answer(caller, request, response);
  }

  /** Counts the tokens that a request of POST /v1/messages would send. */
  @Post('count_tokens')
  @HttpCode(200)
  @LoginOnly({ apiKey: 'chat:chat:use' })
  @LargeBody()
  @ApiOkResponse({ type: TokenCountView })
  count(
    @CurrentCaller() caller: Caller,
    @Body() body: TokenCountBody,
    @Res({ passthrough: true }) response: Response,
    @WhileConnected() signal: AbortSignal,
  ): Promise<TokenCountView> {
    response.set(requestIdHeader());
    const { headers } = response.req;
    return reportingCall(caller, response, async ({ trail }) =>
      this.counts.count(caller, await this.files.inMessages(caller, body), {
        headers,
        signal,
        trail,
      }),
    );
  }
}
