import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import {
  CurrentCaller,
  LoginOnly,
  OpenStreams,
  OptionalCaller,
  Public,
} from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { TooManyRequestsError } from '../platform/error/index.js';
import { AnswersRaw, AnswersStatus, NoEnvelope, SseWriter } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';

const PING_MS = 30_000;

/** The event streams of existing consoles. They carry comments only: consoles show each event as a notification. */
@ApiTags('existing consoles')
@Controller('resource/sse')
export class NoticeController {
  private readonly writers = new Map<string, Set<SseWriter>>();

  constructor(
    private readonly streams: OpenStreams,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** An event stream that is open until the sign-in ends. Browsers send the token in the query. */
  @Get()
  @LoginOnly({ tokenInQuery: true })
  @NoEnvelope()
  @AnswersRaw('text/event-stream', 'Comments only')
  open(@CurrentCaller() caller: Caller, @Res() response: Response): void {
    const { CHAT_STREAMS_PER_USER: perUser } = this.config;
    const place = this.streams.reserve(caller, { perUser, endless: true });
    if (!place) {
      throw new TooManyRequestsError(
        msg`You have ${perUser} streams open, as many as one user may have at the same time. Close one and try again. An operator can raise the limit with CHAT_STREAMS_PER_USER.`,
        {
          retryAfterSeconds: 5,
        },
      );
    }
    const writer = new SseWriter(response, PING_MS);
    const sessionWriters = this.writers.get(caller.loginSessionId) ?? new Set();
    this.writers.set(caller.loginSessionId, sessionWriters.add(writer));
    place.onEnd(() => writer.end());
    writer.onClose(() => {
      place.release();
      sessionWriters.delete(writer);
      if (sessionWriters.size === 0) this.writers.delete(caller.loginSessionId);
    });
    writer.start();
  }

  /** Closes the event streams of the caller. Succeeds without a sign-in, too. */
  @Get('close')
  @Public()
  @AnswersStatus()
  close(@OptionalCaller() caller: Caller | undefined): void {
    for (const writer of this.writers.get(caller?.loginSessionId ?? '') ?? []) writer.end();
  }
}
