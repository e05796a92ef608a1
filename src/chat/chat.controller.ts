import { Body, Controller, Headers, Param, Post, Res, UseFilters } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentCaller, LoginOnly } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { Answers, AnswersRaw, IdPipe, NoEnvelope } from '../platform/http/index.js';
import { SendBody } from './chat.dto.js';
import { ChatErrorFilter } from './chat-error.filter.js';
import { ChatService } from './chat.service.js';
import { StopView } from './chat.view.js';
import { SessionService } from './session.service.js';

@ApiTags('chat')
@Controller('chat')
export class ChatController {
  constructor(
    private readonly chat: ChatService,
    private readonly sessions: SessionService,
  ) {}

  /** Sends a message and streams the answer as server-sent events; docs/API.md lists the frames. */
  @Post('send')
  @LoginOnly()
  @NoEnvelope()
  @UseFilters(ChatErrorFilter)
  @ApiHeader({ name: 'Idempotency-Key', required: false })
  @AnswersRaw('text/event-stream', 'Frames: content, usage, done; on failure error and [ERROR]')
  async send(
    @CurrentCaller() caller: Caller,
    @Body() body: SendBody,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    await this.chat.send(caller, { body, idempotencyKey: idempotencyKey?.slice(0, 200) }, response);
  }

  /** Stops the running answer of a session, from any connection. */
  @Post('stop/:sessionId')
  @LoginOnly()
  @Answers(StopView)
  async stop(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', IdPipe) sessionId: number,
  ): Promise<StopView> {
    return { stopped: await this.sessions.stop(caller, sessionId) };
  }
}
