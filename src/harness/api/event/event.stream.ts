import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import type { StreamPlace } from '../../../platform/access/index.js';
import { isOutage } from '../../../platform/database/index.js';
import { sseFrame, SseWriter } from '../../../platform/http/index.js';
import { isEnded } from '../../protocol/run.state.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import type { EventFeed, EventPage, Follower } from './event.feed.js';

const PING_MS = 10_000;

/** Time after which a client that reads nothing is disconnected; it reconnects with the number of its last event. */
const STALLED_MS = 10_000;

/** Delay before a failed read is tried again. */
const RETRY_MS = 2_000;

/** Frames of a stream beside the events of its runs; `last` is the number of the last event written. */
export interface StreamFrames {
  /** The stored events of the run are written. */
  readonly synced: (run: HarnessRun, last: number) => string;
  /** The run has ended and sends no more events. */
  readonly over?: (run: HarnessRun, last: number) => string;
  /** Number of items that wait for a decision of the reader. Without it the stream ends with its last run. */
  readonly countInbox?: () => Promise<number>;
}

/** A run and the stream's position in it. */
interface StreamedRun {
  readonly run: HarnessRun;
  readonly follower: Follower;
  /** A page that was read before the stream began. */
  first?: EventPage | undefined;
  more: boolean;
  synced: boolean;
}

/**
 * Streams stored and new events of runs in one response. Each run gets a page in turn, so that a long replay neither
 * delays the others nor needs more memory than one page. Nothing is buffered for a slow client, because events that it
 * has not read are in the table. Always close it, even if nothing was written.
 */
export class EventStream {
  private readonly woken = new EventTarget();
  private readonly ending = new AbortController();
  private readonly writer: SseWriter;
  private readonly runs = new Set<StreamedRun>();
  private isInboxStale: boolean;
  private counted: number | undefined;

  constructor(
    private readonly feed: EventFeed,
    private readonly place: StreamPlace,
    response: Response,
    private readonly frames: StreamFrames,
  ) {
    this.isInboxStale = frames.countInbox !== undefined;
    this.writer = new SseWriter(response, PING_MS, { stalledMs: STALLED_MS });
    this.writer.onClose(() => this.ending.abort());
    place.onEnd(() => this.ending.abort());
  }

  /** The events of the run after the position. */
  follow(run: HarnessRun, position: number): void {
    // A number above the last event would make the stream wait for an event that may never come.
    const after = Math.min(position, run.nextEventSequence - 1);
    const follower = this.feed.follow(run, after, this.woken);
    this.runs.add({ run, follower, more: true, synced: false });
  }

  /** Reads the first pages before the answer begins; false when nothing is in them and nothing more will come. */
  async hasEvents(): Promise<boolean> {
    for (const streamed of this.runs) streamed.first = await streamed.follower.read();
    return [...this.runs].some(
      ({ run, first }) => !isEnded(run.status) || (first?.chunks.length ?? 0) > 0,
    );
  }

  /** The inbox may have changed. */
  readonly recount = (): void => {
    this.isInboxStale = true;
    this.woken.dispatchEvent(new Event('wake'));
  };

  /** Begins the answer. Resolves when the reader leaves, the place ends, or nothing more will come; otherwise never fails. */
  async write(logFailure: (error: unknown) => void): Promise<void> {
    if (this.writer.closed) return;
    this.writer.start();
    while (!this.isOver()) {
      try {
        await this.writeNews();
        if (!this.hasNews() && !this.isOver()) await this.wakeUp();
      } catch (error) {
        if (!isOutage(error)) logFailure(error);
        await sleep(RETRY_MS, undefined, { signal: this.ending.signal }).catch(() => undefined);
      }
    }
    this.writer.end();
  }

  close(): void {
    for (const { follower } of this.runs) follower.leave();
    this.place.release();
  }

  private isOver(): boolean {
    return this.ending.signal.aborted || (this.runs.size === 0 && !this.frames.countInbox);
  }

  private get unread(): StreamedRun[] {
    return [...this.runs].filter(({ more, follower }) => more || follower.isStale);
  }

  private hasNews(): boolean {
    return this.isInboxStale || this.unread.length > 0;
  }

  private async wakeUp(): Promise<void> {
    await once(this.woken, 'wake', { signal: this.ending.signal }).catch(() => undefined);
  }

  private async writeNews(): Promise<void> {
    if (this.isInboxStale) await this.writeCount();
    for (const streamed of this.unread) if (!this.isOver()) await this.writePage(streamed);
  }

  private async writeCount(): Promise<void> {
    this.isInboxStale = false;
    const count = await this.frames.countInbox?.().catch((error: unknown) => {
      this.isInboxStale = true;
      throw error;
    });
    if (count === undefined || count === this.counted) return;
    this.counted = count;
    await this.put(sseFrame('inbox.count', { count }));
  }

  private async writePage(streamed: StreamedRun): Promise<void> {
    const { run, follower, first } = streamed;
    // Determined before the page is read: a run that ends later may have events after the page.
    const wasOver = isEnded(run.status) || (!first && follower.isOver);
    const page = first ?? (await follower.read());
    streamed.first = undefined;
    for (const chunk of page.chunks) await this.put(chunk);
    streamed.more = page.more;
    if (page.more) return;
    if (!streamed.synced) await this.put(this.frames.synced(run, page.last));
    streamed.synced = true;
    if (!wasOver && !page.ended) return;
    if (this.frames.over) await this.put(this.frames.over(run, page.last));
    follower.leave();
    this.runs.delete(streamed);
  }

  private async put(frames: string | Buffer): Promise<void> {
    const { signal } = this.ending;
    if (!signal.aborted && !this.writer.write(frames)) await this.writer.drained(signal);
  }
}
