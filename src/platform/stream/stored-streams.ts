import { once } from 'node:events';
import { Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { isForeignKeyViolation } from '../database/index.js';
import { EventBus } from '../event/index.js';
import { FrameRecorder } from './frame-recorder.js';
import { ReaderPoll } from './reader-poll.js';
import { StreamFrameRepository } from './stream-frame.repository.js';
import type { StoredFrame, StreamKey, StreamSubject } from './stream-frame.repository.js';

const FRAMES_A_PAGE = 200;

/** Frames, and the number of the last of them. */
export interface FramesRead {
  readonly frames: string;
  readonly last: number;
}

/** Makes the end of a stream, which is read after the stored frames. */
export type StreamEnding = (last: StoredFrame | undefined) => FramesRead;

/**
 * Streams that are stored while they are sent, so that any process reads them on after a lost connection. Frames are rows,
 * numbered in their order; notifications only wake readers. The end is made from the row of what the stream answers, so that
 * a client never reads of an end that is not stored.
 */
@Injectable()
export class StoredStreams implements OnApplicationShutdown {
  private readonly readers = new Map<string, Set<Reader>>();
  private readonly poll: ReaderPoll;

  constructor(
    private readonly repository: StreamFrameRepository,
    private readonly bus: EventBus,
  ) {
    this.poll = new ReaderPoll(
      bus,
      () => bus.subscribe('stream.frames', ({ streamId }) => this.wake(streamId)),
      () => {
        for (const id of this.readers.keys()) this.wake(id);
      },
    );
  }

  onApplicationShutdown(): void {
    this.poll.stop();
  }

  /** Records the frames from the number `next`. They are dropped once the subject is deleted. */
  recorder(key: StreamKey, subject: StreamSubject, next = 0): FrameRecorder {
    const store = async (first: number, frames: readonly string[]): Promise<void> => {
      try {
        await this.repository.append(key, subject, { first, frames });
      } catch (error) {
        if (!isForeignKeyViolation(error)) throw error;
      }
      this.notify(key);
    };
    return new FrameRecorder(store, next);
  }

  /** Wakes the readers of the stream, in all processes. */
  notify({ tenantId, id: streamId }: StreamKey): void {
    void this.bus.publish('stream.frames', { tenantId, streamId });
  }

  /** The last stored frame; undefined where none is kept. */
  last(key: StreamKey): Promise<StoredFrame | undefined> {
    return this.repository.last(key);
  }

  /** Removes streams of a user that have ended. */
  remove(owner: Omit<StreamKey, 'id'>, ids: readonly string[]): Promise<void> {
    return this.repository.remove(owner, ids);
  }

  /** The frames after the number, those that are stored and those that come, until the stream has ended or the signal aborts. */
  async *after(
    key: StreamKey,
    start: number,
    {
      ended,
      signal,
    }: {
      /** How the stream ends, once it has ended. All its frames are stored then. */
      readonly ended: () => Promise<StreamEnding | undefined>;
      readonly signal: AbortSignal;
    },
  ): AsyncGenerator<FramesRead> {
    const reader = new Reader();
    const leave = this.enter(key.id, reader);
    let last = start;
    try {
      while (!signal.aborted) {
        reader.take();
        // Read before the frames: all of a stream that has ended are stored.
        const ending = await ended();
        for await (const read of this.stored(key, last)) {
          ({ last } = read);
          yield read;
        }
        if (ending) {
          yield ending(await this.repository.last(key));
          return;
        }
        await reader.wait(signal);
      }
    } finally {
      leave();
    }
  }

  private async *stored(key: StreamKey, start: number): AsyncGenerator<FramesRead> {
    let after = start;
    for (;;) {
      const page = await this.repository.page(key, { after, limit: FRAMES_A_PAGE });
      after = page.at(-1)?.sequence ?? after;
      yield { frames: page.map(({ frame }) => frame).join(''), last: after };
      if (page.length < FRAMES_A_PAGE) return;
    }
  }

  private enter(id: string, reader: Reader): () => void {
    const readers = this.readers.get(id) ?? new Set();
    this.readers.set(id, readers.add(reader));
    this.poll.start();
    return () => {
      readers.delete(reader);
      if (readers.size === 0 && this.readers.get(id) === readers) this.readers.delete(id);
      if (this.readers.size === 0) this.poll.stop();
    };
  }

  /** An id of another tenant wakes a reader for nothing: each reads its own rows. */
  private wake(id: string): void {
    for (const reader of this.readers.get(id) ?? []) reader.wake();
  }
}

/** Waits until there may be new frames. */
class Reader {
  private readonly woken = new EventTarget();
  private isStale = false;

  wake(): void {
    this.isStale = true;
    this.woken.dispatchEvent(new Event('wake'));
  }

  take(): void {
    this.isStale = false;
  }

  async wait(signal: AbortSignal): Promise<void> {
    if (!this.isStale) await once(this.woken, 'wake', { signal }).catch(() => undefined);
  }
}
