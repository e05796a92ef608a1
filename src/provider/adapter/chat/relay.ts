import type { JsonRecord } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import { endOfEvent, tooLarge } from '../model-call.js';
import { cutError } from '../upstream.error.js';
import { isJson, parseRecord } from '../vendor-json.js';
import type { ChatPart, RelayedBody } from './chat.adapter.js';
import { isEndMark } from './stream-mapping.js';
import type { AnswerStream } from './stream-mapping.js';

/** Maximum size of an event, as in StreamDecoder. */
const MAX_EVENT_BYTES = 1024 * 1024;

const END_OF_EVENT = Buffer.from('\n\n');
const DATA = 'data:';
const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
const USAGE = '"usage"';

/** The specifics of a protocol when its requests and answers are relayed. */
export interface RelayForm {
  /** A client's body in the dialect of the service. */
  body(body: RelayedBody): RelayedBody;
  /** Headers of the client's request that go to the service as well, in lower case. */
  readonly headers: readonly string[];
  /** Whether an event says nothing but usage. */
  isUsageAlone(event: JsonRecord): boolean;
}

interface RelaySettings {
  readonly form: RelayForm;
  readonly secrets: Secrets;
  /** False: usage was requested for the service itself, and its event is not passed on. */
  readonly withUsage: boolean;
}

/** The reader of an answer: an AnswerStream, or a wrapper of one. */
export type ReadAnswer = Pick<AnswerStream, 'isOver' | 'isFinished' | 'read' | 'flush' | 'end'>;

/**
 * Passes the events of a stream on as they came, and maps them on the way. Only whole events are passed on,
 * so that a failure never stands in the middle of one.
 */
export class EventRelay implements ReadAnswer {
  private pending: Buffer = Buffer.alloc(0);
  private ready: Buffer[] = [];

  constructor(
    private readonly answer: AnswerStream,
    private readonly settings: RelaySettings,
  ) {}

  get isOver(): boolean {
    return this.answer.isOver;
  }

  get isFinished(): boolean {
    return this.answer.isFinished;
  }

  /** Throws UpstreamError after the events before the failure were made ready. */
  read(bytes: Buffer, parts: ChatPart[]): void {
    const { pending } = this;
    const data = withLineFeeds(pending.length === 0 ? bytes : Buffer.concat([pending, bytes]));
    let start = 0;
    for (
      let end = this.readNext(data, 0, parts);
      end > 0;
      end = this.readNext(data, start, parts)
    ) {
      start = end;
    }
    this.pending = data.subarray(start);
    if (this.pending.length > MAX_EVENT_BYTES) {
      throw tooLarge();
    }
  }

  flush(parts: ChatPart[]): void {
    const { pending } = this;
    this.pending = Buffer.alloc(0);
    if (pending.length === 0) return;
    // Some services leave the empty line after the last event out.
    if (!isCut(pending.toString('utf8'))) {
      this.readEvent(Buffer.concat([pending, END_OF_EVENT]), parts);
    } else if (!this.isFinished) throw cutError();
  }

  end(parts: ChatPart[]): void {
    this.flush(parts);
    this.answer.end(parts);
  }

  /** The events that can be passed on now; often none. */
  take(): Buffer {
    const [first = NOTHING] = this.ready;
    const bytes = this.ready.length > 1 ? Buffer.concat(this.ready) : first;
    this.ready = [];
    return bytes;
  }

  /** The end of the event that begins at `start`; 0 where it is not complete. */
  private readNext(data: Buffer, start: number, parts: ChatPart[]): number {
    const repeated = this.answer.readRepeated(data, start, parts);
    if (repeated > 0) {
      this.ready.push(data.subarray(start, repeated));
      return repeated;
    }
    const end = endOfEvent(data, start);
    if (end > 0) this.readEvent(data.subarray(start, end), parts);
    return end;
  }

  private readEvent(event: Buffer, parts: ChatPart[]): void {
    const text = event.toString('utf8');
    const data = dataOf(text);
    const record = this.map(data, parts);
    const { withUsage, form } = this.settings;
    // The service reported usage on our request, not on the client’s.
    if (!withUsage && record && text.includes(USAGE) && form.isUsageAlone(record)) return;
    this.ready.push(event);
  }

  /** The object in the data of an event, mapped; undefined for the end mark and a comment. */
  private map(data: string, parts: ChatPart[]): JsonRecord | undefined {
    if (data === '') return undefined;
    if (isEndMark(data)) {
      this.answer.readEndMark();
      return undefined;
    }
    const record = parseRecord(data, this.settings.secrets);
    this.answer.readParsed(record, data, parts);
    return record;
  }
}

/**
 * Turns lone carriage returns, which end a line, too (WHATWG HTML, 9.2), into line feeds; no service is known to write one. Thus events
 * end where clients see their end. One at the end may belong to a line feed that follows.
 */
function withLineFeeds(data: Buffer): Buffer {
  let result = data;
  for (let at = data.indexOf(CR); at >= 0; at = data.indexOf(CR, at + 1)) {
    if (at === data.length - 1 || data[at + 1] === LF) continue;
    if (result === data) result = Buffer.from(data);
    result[at] = LF;
  }
  return result;
}

/** Whether the last event, which no empty line ends, is not whole. */
function isCut(event: string): boolean {
  const data = dataOf(event);
  return data !== '' && !isEndMark(data) && !isJson(data);
}

/** The data of an event (WHATWG HTML, 9.2), without white space before it. */
function dataOf(event: string): string {
  // Most events are one line.
  const isOneLine = event.startsWith(DATA) && event.indexOf('\n') === event.length - 2;
  if (isOneLine) return event.slice(DATA.length, -2).trimStart();
  const lines = event.replace(/^\ufeff/, '').split(/\r?\n/);
  return lines
    .filter((line) => line.startsWith(DATA))
    .map((line) => line.slice(DATA.length).trimStart())
    .join('\n');
}
