import { once } from 'node:events';
import { Injectable } from '@nestjs/common';
import { createParser } from 'eventsource-parser';
import { EventBus } from '../../../platform/event/index.js';
import { sseFrame } from '../../../platform/http/index.js';
import { ResponseEventRepository } from './response-event.repository.js';
import type { EventOwner } from './response-event.repository.js';
import { objectIn } from './relayed-response.js';
import type { JsonObject } from './stored-response.entity.js';

/** Events within this time are stored together. */
const COLLECTION_MS = 100;

/** An answer pauses while this many bytes are not stored. */
const MAX_UNSTORED_BYTES = 1024 * 1024;

/** Deltas of a response beyond these bytes are not stored: the final event of each item repeats its text. */
const MAX_DELTA_BYTES = 16 * 1024 * 1024;

const EVENTS_A_PAGE = 200;

/** Interval at which readers poll if no notification arrives. */
const POLL_MS = 2_000;

/** Retention of events. */
export const EVENT_RETENTION_HOURS = 24;

/** Events of the response as a whole. Plinth makes them itself, with the id under which it is stored. */
const OWN_EVENTS: ReadonlySet<string> = new Set(
  ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(
    (name) => `response.${name}`,
  ),
);

/** Events, and the number of the last of them. */
export interface EventsRead {
  readonly frames: string;
  readonly last: number;
}

/**
 * The events of responses in the background. They are rows, numbered in the order of the answer; notifications only wake readers.
 * The last event of a response is made from its row, so that a client never reads of an end that is not stored.
 */
@Injectable()
export class ResponseEvents {
  constructor(
    private readonly repository: ResponseEventRepository,
    private readonly bus: EventBus,
  ) {}

  /** Stores the first events of a response. The recorder takes those that follow. */
  async begin(owner: EventOwner, id: string, response: JsonObject): Promise<EventRecorder> {
    const recorder = new EventRecorder(async (first, frames) => {
      await this.repository.append(owner, id, first, frames);
      this.notify(owner, id);
    });
    for (const type of ['response.created', 'response.in_progress'])
      recorder.add(type, { response });
    await recorder.close();
    return recorder;
  }

  /** Wakes the readers of the response. */
  notify({ tenantId }: EventOwner, responseId: string): void {
    void this.bus.publish('response.event', { tenantId, responseId });
  }

  /** Whether the events of the response can be read. */
  async areKept(owner: EventOwner, id: string): Promise<boolean> {
    return (await this.repository.last(owner, id)) !== undefined;
  }

  /**
   * The events after the number, those that are stored and those that come, until the response has ended or the signal aborts.
   * A cancelled response has no event of its end.
   */
  async *after(
    owner: EventOwner,
    id: string,
    start: number,
    {
      ended,
      signal,
    }: {
      /** The response, once it has ended. */
      readonly ended: () => Promise<JsonObject | undefined>;
      readonly signal: AbortSignal;
    },
  ): AsyncGenerator<EventsRead> {
    const news = new News();
    const leave = this.bus.subscribe('response.event', (one) => {
      if (one.tenantId === owner.tenantId && one.responseId === id) news.wake();
    });
    const timer = setInterval(() => news.wake(), POLL_MS).unref();
    let last = start;
    let isOver = false;
    try {
      while (!isOver && !signal.aborted) {
        news.take();
        // Read before the events: all of a response that has ended are stored.
        const response = await ended();
        for await (const read of this.stored(owner, id, last)) {
          ({ last } = read);
          yield read;
        }
        isOver = response !== undefined;
        if (response === undefined) await news.wait(signal);
        else {
          const number = ((await this.repository.last(owner, id)) ?? start) + 1;
          yield { frames: number > start ? lastFrame(response, number) : '', last: number };
        }
      }
    } finally {
      clearInterval(timer);
      leave();
    }
  }

  private async *stored(owner: EventOwner, id: string, start: number): AsyncGenerator<EventsRead> {
    let after = start;
    for (;;) {
      const page = await this.repository.page(owner, id, { after, limit: EVENTS_A_PAGE });
      after = page.at(-1)?.sequence ?? after;
      yield { frames: page.map(({ frame }) => frame).join(''), last: after };
      if (page.length < EVENTS_A_PAGE) return;
    }
  }
}

/** Wakes a reader when there may be new events. */
class News {
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

/** The final event; empty for a cancelled response. */
function lastFrame(response: JsonObject, sequence_number: number): string {
  const type = `response.${String(response['status'])}`;
  return OWN_EVENTS.has(type) ? sseFrame(type, { type, sequence_number, response }) : '';
}

/** Numbers the events of one answer, and stores them in pieces. */
export class EventRecorder {
  private next = 0;
  private deltaBytes = 0;
  private frames: string[] = [];
  private bytes = 0;
  private storing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly parser = createParser({
    onEvent: ({ data }) => {
      const event = objectIn(data);
      const type = event?.['type'];
      if (event && typeof type === 'string' && !OWN_EVENTS.has(type)) this.add(type, event);
    },
  });

  constructor(
    private readonly store: (first: number, frames: readonly string[]) => Promise<void>,
  ) {}

  /** Accepts events as sent and renumbers them. Waits while too many bytes are not stored. */
  async write(events: string | Buffer): Promise<void> {
    this.parser.feed(events.toString());
    if (this.bytes > MAX_UNSTORED_BYTES) await this.flush();
    else this.timer ??= setTimeout(() => this.flushLater(), COLLECTION_MS);
  }

  add(type: string, event: JsonObject): void {
    const frame = sseFrame(type, { type, ...event, sequence_number: this.next });
    const bytes = Buffer.byteLength(frame);
    if (type.endsWith('.delta')) {
      this.deltaBytes += bytes;
      if (this.deltaBytes > MAX_DELTA_BYTES) return;
    }
    this.next += 1;
    this.frames.push(frame);
    this.bytes += bytes;
  }

  /** Stores the remaining events. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.storing?.catch(() => undefined);
    await this.flush();
  }

  /** A failure is reported by the next `flush` or by `close`; the events are retained until then. */
  private flushLater(): void {
    this.timer = undefined;
    void this.flush().catch(() => undefined);
  }

  private flush(): Promise<void> {
    this.storing ??= this.storeAll().finally(() => (this.storing = undefined));
    return this.storing;
  }

  private async storeAll(): Promise<void> {
    while (this.frames.length > 0) {
      const { bytes } = this;
      const frames = [...this.frames];
      await this.store(this.next - frames.length, frames);
      this.frames = this.frames.slice(frames.length);
      this.bytes -= bytes;
    }
  }
}
