import { Inject, Injectable } from '@nestjs/common';
import { OpenStreams } from '../platform/access/index.js';
import type { Caller, StreamPlace } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { TooManyStreamsError } from './chat.errors.js';

/** The answers that are being written in this process, whatever interface asked for them. */
@Injectable()
export class ChatStreams {
  private answering = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly streams: OpenStreams,
  ) {}

  /**
   * Reserves a place, which the caller releases when the answer is over. Call it before the first await. Throws
   * TooManyStreamsError.
   */
  reserve(caller: Caller): StreamPlace {
    const { CHAT_STREAMS, CHAT_STREAMS_PER_USER: perUser } = this.config;
    if (this.answering >= CHAT_STREAMS) {
      throw new TooManyStreamsError('CHAT_STREAMS', CHAT_STREAMS);
    }
    const place = this.streams.reserve(caller, { perUser });
    if (!place) throw new TooManyStreamsError('CHAT_STREAMS_PER_USER', perUser);
    this.answering += 1;
    return place;
  }

  release(place: StreamPlace): void {
    this.answering -= 1;
    place.release();
  }
}
