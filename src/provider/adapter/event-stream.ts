import { LARGEST_EVENT_BYTES, LineDecoder, tooLarge } from './line-decoder.js';

export interface ServerSentEvent {
  /** The name given by `event:`, else the empty text. */
  readonly event: string;
  /** The `data:` lines, joined by LF. */
  readonly data: string;
}

const COLON = 58;
const SPACE = 32;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const DATA = Buffer.from('data');
const EVENT = Buffer.from('event');

/**
 * Decodes `text/event-stream` (WHATWG HTML, 9.2) from raw reads. Comments, `id` and `retry` are passed
 * over. One difference to the standard: an event that the end of the stream leaves unterminated is
 * handed over by `end`, because some services omit the last empty line. Throws UpstreamError
 * (protocol) on an event of more than 1 MiB.
 */
export class EventStreamDecoder {
  private readonly lines = new LineDecoder((bytes, start, end) => this.line(bytes, start, end));
  private events: ServerSentEvent[] = [];
  private event = '';
  private data: string | undefined;
  private dataBytes = 0;
  private atStart = true;

  /** Adds the events that this read completes to `events`, also when it throws, and answers them. */
  push(bytes: Buffer, events: ServerSentEvent[] = []): ServerSentEvent[] {
    this.events = events;
    this.lines.push(bytes);
    return events;
  }

  /** The rest at the end of the stream: at most one event. */
  end(events: ServerSentEvent[] = []): ServerSentEvent[] {
    this.events = events;
    this.lines.end();
    this.dispatch();
    return events;
  }

  private line(bytes: Buffer, lineStart: number, end: number): void {
    let start = lineStart;
    if (this.atStart) {
      this.atStart = false;
      if (startsWith(bytes, start, end, BOM)) start += BOM.length;
    }
    if (start === end) this.dispatch();
    else if (isField(bytes, start, end, DATA)) this.addData(bytes, start + DATA.length, end);
    else if (isField(bytes, start, end, EVENT)) {
      this.event = valueText(bytes, start + EVENT.length, end);
    }
  }

  private addData(bytes: Buffer, start: number, end: number): void {
    this.dataBytes += end - start;
    if (this.dataBytes > LARGEST_EVENT_BYTES) throw tooLarge();
    const text = valueText(bytes, start, end);
    this.data = this.data === undefined ? text : `${this.data}\n${text}`;
  }

  private dispatch(): void {
    if (this.data !== undefined) this.events.push({ event: this.event, data: this.data });
    this.event = '';
    this.data = undefined;
    this.dataBytes = 0;
  }
}

/** Whether the line is this field: its name, then a colon or nothing. */
function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const after = start + name.length;
  return startsWith(bytes, start, end, name) && (after === end || bytes[after] === COLON);
}

function startsWith(bytes: Buffer, start: number, end: number, prefix: Buffer): boolean {
  if (end - start < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) {
    if (bytes[start + at] !== prefix[at]) return false;
  }
  return true;
}

/** What follows the colon, without the one space that may come first. */
function valueText(bytes: Buffer, colon: number, end: number): string {
  const start = bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
  return start < end ? bytes.toString('utf8', start, end) : '';
}
