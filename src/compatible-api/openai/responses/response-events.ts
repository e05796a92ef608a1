import { Injectable } from '@nestjs/common';
import { createParser } from 'eventsource-parser';
import type { Caller } from '../../../platform/access/index.js';
import { sseFrame } from '../../../platform/http/index.js';
import { StoredStreams } from '../../../platform/stream/index.js';
import type { FrameRecorder, FramesRead, StreamEnding } from '../../../platform/stream/index.js';
import { objectIn } from './relayed-response.js';
import type { JsonObject } from './stored-response.entity.js';

/** Deltas of a response beyond these bytes are not stored: the final event of each item repeats its text. */
const MAX_DELTA_BYTES = 16 * 1024 * 1024;

/** Events of the response as a whole. Plinth makes them itself, with the id under which it is stored. */
const OWN_EVENTS: ReadonlySet<string> = new Set(
  ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map(
    (name) => `response.${name}`,
  ),
);

type EventOwner = Pick<Caller, 'tenantId' | 'userId'>;

/** The events of responses in the background, as stored streams under the ids of the responses. */
@Injectable()
export class ResponseEvents {
  constructor(private readonly streams: StoredStreams) {}

  /** Stores the first events of a response. The recorder takes those that follow. */
  async begin(
    { tenantId, userId }: EventOwner,
    id: string,
    response: JsonObject,
  ): Promise<EventRecorder> {
    const frames = this.streams.recorder({ tenantId, userId, id }, { responseId: id });
    const recorder = new EventRecorder(frames);
    for (const type of ['response.created', 'response.in_progress'])
      recorder.add(type, { response });
    await recorder.close();
    return recorder;
  }

  /** Wakes the readers of the response. */
  notify({ tenantId, userId }: EventOwner, id: string): void {
    this.streams.notify({ tenantId, userId, id });
  }

  /** Whether the events of the response can be read. */
  async areKept({ tenantId, userId }: EventOwner, id: string): Promise<boolean> {
    return (await this.streams.last({ tenantId, userId, id })) !== undefined;
  }

  /**
   * The events after the number, those that are stored and those that come, until the response has ended or the signal aborts.
   * A cancelled response has no event of its end.
   */
  after(
    { tenantId, userId }: EventOwner,
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
  ): AsyncGenerator<FramesRead> {
    const ending = async (): Promise<StreamEnding | undefined> => {
      const response = await ended();
      if (response === undefined) return undefined;
      return (stored) => {
        const last = (stored?.sequence ?? start) + 1;
        return { frames: last > start ? lastFrame(response, last) : '', last };
      };
    };
    return this.streams.after({ tenantId, userId, id }, start, { ended: ending, signal });
  }
}

/** The final event; empty for a cancelled response. */
function lastFrame(response: JsonObject, sequence_number: number): string {
  const type = `response.${String(response['status'])}`;
  return OWN_EVENTS.has(type) ? sseFrame(type, { type, sequence_number, response }) : '';
}

/** Records the events of one answer under the numbers of their frames. */
export class EventRecorder {
  private deltaBytes = 0;
  private readonly parser = createParser({
    onEvent: ({ data }) => {
      const event = objectIn(data);
      const type = event?.['type'];
      if (event && typeof type === 'string' && !OWN_EVENTS.has(type)) this.add(type, event);
    },
  });

  constructor(private readonly frames: FrameRecorder) {}

  /** Accepts events as sent and renumbers them. Waits while too many bytes are not stored. */
  async write(events: string | Buffer): Promise<void> {
    this.parser.feed(events.toString());
    if (this.frames.isFull) await this.frames.flush();
  }

  add(type: string, event: JsonObject): void {
    const frame = sseFrame(type, { type, ...event, sequence_number: this.frames.nextNumber });
    if (type.endsWith('.delta')) {
      this.deltaBytes += Buffer.byteLength(frame);
      if (this.deltaBytes > MAX_DELTA_BYTES) return;
    }
    this.frames.add(frame);
  }

  /** Stores the remaining events. */
  close(): Promise<void> {
    return this.frames.close();
  }
}
