import { Inject, Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { OpenStreams } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { TooManyRequestsError } from '../../platform/error/index.js';
import { SseWriter } from '../../platform/http/index.js';

const PING_MS = 30_000;

/** The event streams of existing consoles. They carry comments only: consoles show each event as a notification. */
@Injectable()
export class NoticeChannel {
  private readonly writers = new Map<string, Set<SseWriter>>();

  constructor(
    private readonly streams: OpenStreams,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  open(caller: Caller, response: Response): void {
    if (this.streams.countOf(caller) >= this.config.CHAT_STREAMS_PER_USER) {
      throw new TooManyRequestsError('You have too many streams open. Close one and try again.');
    }
    const writer = new SseWriter(response, PING_MS);
    const own = this.writers.get(caller.loginSessionId) ?? new Set();
    this.writers.set(caller.loginSessionId, own.add(writer));
    const remove = this.streams.add(caller, () => writer.end());
    writer.onClose(() => {
      remove();
      own.delete(writer);
      if (own.size === 0) this.writers.delete(caller.loginSessionId);
    });
    writer.start();
  }

  /** Ends the streams of the caller's sign-in. */
  close(caller: Caller): void {
    for (const writer of this.writers.get(caller.loginSessionId) ?? []) writer.end();
  }
}
