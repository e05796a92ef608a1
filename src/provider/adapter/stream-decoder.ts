import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import { msg } from '../../platform/message/index.js';
import { UpstreamError } from './upstream.error.js';

const LF = 0x0a;
const CR = 0x0d;

/** Longest event or line that is accepted. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** Splits the body of one streamed answer into texts, wherever its reads are cut. Throws UpstreamError (protocol) beyond 1 MiB a text. */
export interface StreamDecoder {
  /** Adds the texts that this read completes to `texts`, also when it throws, and returns them. */
  push(bytes: Buffer, texts?: string[]): string[];
  /** Returns at most one text: what the end of the stream left unterminated. */
  end(): string[];
}

/**
 * Decodes `text/event-stream` (WHATWG HTML, 9.2) into the data of each event. One difference to the standard: `end`
 * returns an event that the stream left unterminated, because some services omit the last empty line.
 */
export class EventStreamDecoder implements StreamDecoder {
  private readonly characters = new StringDecoder('utf8');
  private readonly parser = createParser({ onEvent: ({ data }) => this.onEvent(data) });
  private texts: string[] = [];
  /** Bytes since the last event. The parser discards lines that mean nothing, and those count as well. */
  private pendingBytes = 0;

  push(bytes: Buffer, texts: string[] = []): string[] {
    this.texts = texts;
    this.pendingBytes += bytes.length;
    this.parser.feed(this.characters.write(bytes));
    if (this.pendingBytes > MAX_EVENT_BYTES) throw tooLarge();
    return texts;
  }

  end(): string[] {
    this.texts = [];
    // The first line feed ends an open line, or completes a CR LF; the second ends the event.
    this.parser.feed(`${this.characters.end()}\n\n`);
    return this.texts;
  }

  private onEvent(data: string): void {
    if (data.length > MAX_EVENT_BYTES) throw tooLarge();
    this.pendingBytes = 0;
    this.texts.push(data);
  }
}

/** The end of the `text/event-stream` event that begins at `start`, its empty line included; 0 while it is incomplete. */
export function endOfEvent(data: Buffer, start: number): number {
  for (let at = data.indexOf(LF, start); at >= 0; at = data.indexOf(LF, at + 1)) {
    if (data[at + 1] === LF) return at + 2;
    if (data[at + 1] === CR && data[at + 2] === LF) return at + 3;
  }
  return 0;
}

/** Decodes newline-delimited JSON into its lines. A CR before the LF is white space to JSON. */
export class JsonLinesDecoder implements StreamDecoder {
  private readonly characters = new StringDecoder('utf8');
  private pending: string[] = [];
  private pendingLength = 0;

  push(bytes: Buffer, texts: string[] = []): string[] {
    const pieces = this.characters.write(bytes).split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) this.endLine(piece, texts);
    this.keep(rest);
    return texts;
  }

  end(): string[] {
    const texts: string[] = [];
    this.endLine(this.characters.end(), texts);
    return texts;
  }

  private endLine(last: string, texts: string[]): void {
    this.keep(last);
    const line = this.pending.join('');
    this.pending = [];
    this.pendingLength = 0;
    if (line.trim() !== '') texts.push(line);
  }

  private keep(piece: string): void {
    this.pending.push(piece);
    this.pendingLength += piece.length;
    if (this.pendingLength > MAX_EVENT_BYTES) throw tooLarge();
  }
}

export function tooLarge(): UpstreamError {
  return new UpstreamError({
    kind: 'protocol',
    message: msg`The provider sent a single event of more than 1 MiB, which is refused. Check that the address belongs to a model service.`,
  });
}
