import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import type { StreamPlace } from '../../../platform/access/index.js';
import { isOutage } from '../../../platform/database/index.js';
import { sseFrame, SseWriter } from '../../../platform/http/index.js';
import type { EventSource } from '../../store/event.repository.js';
import type { EventFeed, EventPage, Follower } from './event.feed.js';

const PING_MS = 10_000;

/** Time after which a client that reads nothing is disconnected; it reconnects with the number of its last event. */
const STALLED_MS = 10_000;

/** Delay before a failed read is tried again. */
const RETRY_MS = 2_000;

/** A source of events and the frames beside them; `last` is the number of the last event written. */
export interface StreamedSource {
  readonly source: EventSource;
  /** Number of its last event when the stream began. */
  readonly last: number;
  /** Whether the run had ended when the stream began. */
  readonly isOver: boolean;
  /** The stored events are written. */
  readonly synced: (last: number) => string;
  /** The run has ended and sends no more events. */
  readonly over?: (last: number) => string;
}

/** A source and the stream's position in it. */
interface Reading extends StreamedSource {
  readonly follower: Follower;
  /** A page that was read before the stream began. */
  first?: EventPage | undefined;
  more: boolean;
  isSynced: boolean;
}

/**
 * Streams stored and new events of sources in one response. Each gets a page in turn, so that a long replay neither
 * delays the others nor needs more memory than one page. Nothing is buffered for a slow client, because events that it
 * has not read are in the table. Always close it, even if nothing was written.
 */
export class EventStream {
  private readonly woken = new EventTarget();
  private readonly ending = new AbortController();
  private readonly writer: SseWriter;
  private readonly readings = new Set<Reading>();
  private isInboxStale: boolean;
  private counted: number | undefined;

  constructor(
    private readonly feed: EventFeed,
    private readonly place: StreamPlace,
    response: Response,
    /** Number of items that wait for a decision of the reader. Without it the stream ends with its last run. */
    private readonly countInbox?: () => Promise<number>,
  ) {
    this.isInboxStale = countInbox !== undefined;
    this.writer = new SseWriter(response, PING_MS, { stalledMs: STALLED_MS });
    this.writer.onClose(() => this.ending.abort());
    place.onEnd(() => this.ending.abort());
  }

  /** The events of the source after the position. */
  follow(streamed: StreamedSource, position: number): void {
    // A number above the last event would make the stream wait for an event that may never come.
    const after = Math.min(position, streamed.last);
    const follower = this.feed.follow(streamed.source, after, this.woken);
    this.readings.add({ ...streamed, follower, more: true, isSynced: false });
  }

  /** Reads the first pages before the answer begins; false when nothing is in them and nothing more will come. */
  async hasEvents(): Promise<boolean> {
    for (const reading of this.readings) reading.first = await reading.follower.read();
    return [...this.readings].some(
      ({ isOver, first }) => !isOver || (first?.chunks.length ?? 0) > 0,
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
    for (const { follower } of this.readings) follower.leave();
    this.place.release();
  }

  private isOver(): boolean {
    return this.ending.signal.aborted || (this.readings.size === 0 && !this.countInbox);
  }

  private get unread(): Reading[] {
    return [...this.readings].filter(({ more, follower }) => more || follower.isStale);
  }

  private hasNews(): boolean {
    return this.isInboxStale || this.unread.length > 0;
  }

  private async wakeUp(): Promise<void> {
    await once(this.woken, 'wake', { signal: this.ending.signal }).catch(() => undefined);
  }

  private async writeNews(): Promise<void> {
    if (this.isInboxStale) await this.writeCount();
    for (const reading of this.unread) if (!this.isOver()) await this.writePage(reading);
  }

  private async writeCount(): Promise<void> {
    this.isInboxStale = false;
    const count = await this.countInbox?.().catch((error: unknown) => {
      this.isInboxStale = true;
      throw error;
    });
    if (count === undefined || count === this.counted) return;
    this.counted = count;
    await this.put(sseFrame('inbox.count', { count }));
  }

  private async writePage(reading: Reading): Promise<void> {
    const { follower, first } = reading;
    // Determined before the page is read: a run that ends later may have events after the page.
    const wasOver = reading.isOver || (!first && follower.isOver);
    const page = first ?? (await follower.read());
    reading.first = undefined;
    for (const chunk of page.chunks) await this.put(chunk);
    reading.more = page.more;
    if (page.more) return;
    if (!reading.isSynced) await this.put(reading.synced(page.last));
    reading.isSynced = true;
    if (!wasOver && !page.ended) return;
    if (reading.over) await this.put(reading.over(page.last));
    follower.leave();
    this.readings.delete(reading);
  }

  private async put(frames: string | Buffer): Promise<void> {
    const { signal } = this.ending;
    if (!signal.aborted && !this.writer.write(frames)) await this.writer.drained(signal);
  }
}
