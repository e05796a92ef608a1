import { Inject, Injectable } from '@nestjs/common';
import { OpenStreams } from '../platform/access/index.js';
import type { Caller, StreamPlace } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { TooManyStreamsError } from './chat.errors.js';

/** Comment pings on an open stream. Clients give up a stream that is silent for 75 seconds (client/src/streams.ts). */
export const CHAT_PING = { intervalMs: 10_000 };

/** The running answers of this process, from all interfaces. */
@Injectable()
export class ChatStreams {
  private answering = 0;
  /** Running batch lines by user. They take no slots from waiting clients. */
  private readonly lines = new Map<number, number>();
  private lineCount = 0;

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

  /** Reserves a place for reading a detached turn, which has its own. The caller releases it. Throws TooManyStreamsError. */
  reserveReader(caller: Caller): StreamPlace {
    const { CHAT_STREAMS_PER_USER: perUser } = this.config;
    const place = this.streams.reserve(caller, { perUser, kind: 'reader', endless: true });
    if (!place) throw new TooManyStreamsError('CHAT_STREAMS_PER_USER', perUser);
    return place;
  }

  /** Reserves a place for as long as the work runs. Call it before the first await. Throws TooManyStreamsError. */
  async inPlace<T>(caller: Caller, work: (place: StreamPlace) => Promise<T>): Promise<T> {
    const place = this.reserve(caller);
    try {
      return await work(place);
    } finally {
      this.release(place);
    }
  }

  release(place: StreamPlace): void {
    this.answering -= 1;
    place.release();
  }

  /** Whether a batch line may begin: lines use at most half of the slots, less those of other answers. */
  get hasLinePlace(): boolean {
    return this.answering + this.lineCount < halfOf(this.config.CHAT_STREAMS);
  }

  /** Users without remaining slots for batch lines. */
  usersWithoutLinePlace(): number[] {
    const open = this.streams.countsOf('chat');
    for (const [userId, count] of this.lines) open.set(userId, (open.get(userId) ?? 0) + count);
    const most = halfOf(this.config.CHAT_STREAMS_PER_USER);
    return [...open].flatMap(([userId, count]) => (count >= most ? [userId] : []));
  }

  /** Counts a line of a batch of the user, until what it answers is called. */
  beginLine(userId: number): () => void {
    const change = (by: number): void => {
      this.lineCount += by;
      const count = (this.lines.get(userId) ?? 0) + by;
      if (count > 0) this.lines.set(userId, count);
      else this.lines.delete(userId);
    };
    change(1);
    return () => change(-1);
  }
}

function halfOf(places: number): number {
  return Math.max(1, Math.floor(places / 2));
}
