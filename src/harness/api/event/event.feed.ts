import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { isOutage } from '../../../platform/database/index.js';
import { EventBus } from '../../../platform/event/index.js';
import { ReaderPoll } from '../../../platform/stream/index.js';
import { EventRepository, sourceKey } from '../../store/event.repository.js';
import type { EventSource, StoredEvent } from '../../store/event.repository.js';
import { eventFrame } from './event.view.js';

/**
 * Wakes the readers of this process when what they follow, runs or users, has new events. A notification carries no data: events
 * are always read from the table, and one statement a poll detects lost notifications.
 */
@Injectable()
export class EventFeed implements OnApplicationShutdown {
  private readonly logger = new Logger(EventFeed.name);
  private readonly tails = new Map<string, EventTail>();
  private readonly readerPoll: ReaderPoll;
  private polling: Promise<void> | undefined;

  constructor(
    bus: EventBus,
    private readonly repository: EventRepository,
  ) {
    this.readerPoll = new ReaderPoll(
      bus,
      () => this.subscribe(bus),
      () => this.pollNow(),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.readerPoll.stop();
    await this.polling;
  }

  /** Sources with a subscriber. */
  get size(): number {
    return this.tails.size;
  }

  /**
   * A reader of the source's events after the position; it must leave in the end. Readers that belong together share `woken`,
   * which has an event `wake` when one of them may have something to read.
   */
  follow(source: EventSource, position: number, woken: EventTarget): Follower {
    const key = sourceKey(source);
    let tail = this.tails.get(key);
    if (!tail) {
      tail = new EventTail(source, this.repository, () => this.forget(key));
      this.tails.set(key, tail);
    }
    this.readerPoll.start();
    return tail.follow(position, woken);
  }

  private subscribe(bus: EventBus): () => void {
    return bus.subscribe('harness.event', ({ tenantId, runId, userId, sequence }) => {
      const followed = this.tails.get(runId);
      if (followed?.source.tenantId === tenantId) followed.reaches(sequence);
      // The number among all events of the user is not announced: its readers look.
      if (userId !== undefined) {
        this.tails.get(sourceKey({ tenantId, ownerId: userId }))?.reaches(Infinity);
      }
    });
  }

  private pollNow(): void {
    this.polling ??= this.poll().finally(() => (this.polling = undefined));
  }

  private forget(key: string): void {
    this.tails.delete(key);
    if (this.tails.size === 0) this.readerPoll.stop();
  }

  private async poll(): Promise<void> {
    const tails = [...this.tails.values()];
    try {
      const progress = await this.repository.progress(tails.map(({ source }) => source));
      for (const tail of tails) {
        const { last, ended } = progress.get(sourceKey(tail.source)) ?? { last: 0, ended: true };
        if (ended) tail.end();
        tail.reaches(last);
      }
    } catch (error) {
      // The next round tries again.
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to poll subscribed runs', err: error });
      }
    }
  }
}

/** The events that end a stream. */
const LAST_EVENTS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled']);

/** Size of one write: small enough that a client that stops reading leaves little unsent. */
const CHUNK_CHARACTERS = 32_768;

/** Events of a source that follow each other, ready to be written; readers at the same place share one. */
export interface EventPage {
  /** Whole frames as UTF-8. */
  readonly chunks: readonly Buffer[];
  /** Number of the last event; the position that was asked for when there is none. */
  readonly last: number;
  /** Whether the page was full and more events follow. */
  readonly more: boolean;
  /** Whether the end of the run that is read is among the events. */
  readonly ended: boolean;
}

function* chunksOf(events: readonly StoredEvent[]): Generator<Buffer> {
  let frames = '';
  for (const event of events) {
    frames += eventFrame(event);
    if (frames.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(frames);
    frames = '';
  }
  if (frames !== '') yield Buffer.from(frames);
}

/** Page size of a replay: maximum number of events, and maximum size of their data. */
const PAGE_EVENTS = 500;
const REPLAY_BYTES = 4 * 1024 * 1024;

interface Reading {
  readonly page: Promise<EventPage>;
  /** Number of wake-ups before the read began. */
  readonly wakeUps: number;
}

/** A source that readers of this process follow. Readers at the same position share one read. */
export class EventTail {
  private readonly followers = new Set<Follower>();
  private readonly readings = new Map<number, Reading>();
  private wakeUps = 0;
  private over = false;

  constructor(
    readonly source: EventSource,
    private readonly repository: Pick<EventRepository, 'page'>,
    private readonly onEmpty: () => void,
  ) {}

  /** Whether only events that are already in the table can follow. */
  get isOver(): boolean {
    return this.over;
  }

  follow(position: number, woken: EventTarget): Follower {
    const onLeave = (): void => {
      if (this.followers.delete(follower) && this.followers.size === 0) this.onEmpty();
    };
    const follower = new Follower(this, position, onLeave, woken);
    this.followers.add(follower);
    return follower;
  }

  /** Wakes readers that have not read up to this number of the source's events. */
  reaches(sequence: number): void {
    this.wakeUps += 1;
    for (const follower of this.followers) if (follower.position < sequence) follower.wake();
  }

  /** The run has ended or is gone. */
  end(): void {
    if (this.over) return;
    this.over = true;
    for (const follower of this.followers) follower.wake();
  }

  /** Events after the position. A read that began before the last wake-up may miss the events it announced. */
  read(after: number): Promise<EventPage> {
    const running = this.readings.get(after);
    if (running?.wakeUps === this.wakeUps) return running.page;
    const page = this.readPage(after);
    const reading = { page, wakeUps: this.wakeUps };
    this.readings.set(after, reading);
    const forget = (): void => {
      if (this.readings.get(after) === reading) this.readings.delete(after);
    };
    page.then(forget, forget);
    return page;
  }

  private async readPage(after: number): Promise<EventPage> {
    const range = { after, limit: PAGE_EVENTS, bytes: REPLAY_BYTES };
    const { events, more } = await this.repository.page(this.source, range);
    return {
      chunks: [...chunksOf(events)],
      last: events.at(-1)?.position ?? after,
      more,
      ended: !('ownerId' in this.source) && events.some(({ type }) => LAST_EVENTS.has(type)),
    };
  }
}

/** Position of one reader in the events of a source. */
export class Follower {
  private stale = true;

  constructor(
    private readonly tail: EventTail,
    private at: number,
    private readonly onLeave: () => void,
    private readonly woken: EventTarget,
  ) {}

  /** Whether there may be events that `read` has not returned. */
  get isStale(): boolean {
    return this.stale;
  }

  /** Number of the last event that was read. */
  get position(): number {
    return this.at;
  }

  get isOver(): boolean {
    return this.tail.isOver;
  }

  /** The next events, maybe none; the position moves behind them. */
  async read(): Promise<EventPage> {
    this.stale = false;
    try {
      const page = await this.tail.read(this.at);
      this.at = page.last;
      return page;
    } catch (error) {
      this.stale = true;
      throw error;
    }
  }

  wake(): void {
    this.stale = true;
    this.woken.dispatchEvent(new Event('wake'));
  }

  leave(): void {
    this.onLeave();
  }
}
