import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { EventStreamDecoder } from './event-stream.js';
import type { ServerSentEvent } from './event-stream.js';

function decode(reads: readonly Buffer[]): ServerSentEvent[] {
  const decoder = new EventStreamDecoder();
  return [...reads.flatMap((bytes) => decoder.push(bytes)), ...decoder.end()];
}

const data = (...texts: string[]): ServerSentEvent[] =>
  texts.map((text) => ({ event: '', data: text }));

test.each<[string, string, ServerSentEvent[]]>([
  ['LF', 'data: a\n\ndata: b\n\n', data('a', 'b')],
  ['CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
  ['CR', 'data: a\r\rdata: b\r\r', data('a', 'b')],
  ['mixed ends', 'data: a\r\n\ndata: b\r\ndata: c\r\r', data('a', 'b\nc')],
  ['no space after the colon', 'data:a\n\n', data('a')],
  ['only the first space is dropped', 'data:  a \n\n', data(' a ')],
  ['several data lines', 'data: a\ndata:\ndata: b\n\n', data('a\n\nb')],
  ['a field without a colon', 'data\n\n', data('')],
  ['comments', ': ping\n\n:\ndata: a\n: x\n\n', data('a')],
  ['other fields', 'id: 1\nretry: 10\ndatabase: no\ndata: a\n\n', data('a')],
  [
    'event names',
    'event: ping\ndata: a\n\ndata: b\n\n',
    [{ event: 'ping', data: 'a' }, ...data('b')],
  ],
  ['an event without data', 'event: ping\n\ndata: a\n\n', data('a')],
  ['a byte order mark', '\uFEFFdata: a\n\n', data('a')],
  ['an unterminated last event', 'data: a\n\ndata: b', data('a', 'b')],
  ['an end inside of an event', 'data: a\n', data('a')],
  ['nothing', '', []],
])('%s, however the reads are cut', (_name, text, expected) => {
  const bytes = Buffer.from(text);
  expect(decode([bytes])).toEqual(expected);
  expect(decode([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected);
});

describe('any text', () => {
  const pieces = fc.constantFrom(
    'data:',
    'data: ',
    'event: e',
    '\n',
    '\r',
    '\r\n',
    ':',
    'é',
    '🙂',
    'x',
  );

  it('decodes alike whatever the cuts', () => {
    fc.assert(
      fc.property(fc.array(pieces), fc.array(fc.nat()), (texts, cuts) => {
        const bytes = Buffer.from(texts.join(''));
        const at = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
        const reads = [0, ...at].map((start, index) => bytes.subarray(start, at[index]));
        expect(decode(reads)).toEqual(decode([bytes]));
      }),
    );
  });
});

describe('limits', () => {
  it('refuses one event of more than 1 MiB, after the events before it', () => {
    const events: ServerSentEvent[] = [];
    const bytes = Buffer.from(`data: first\n\ndata: ${'x'.repeat(1_100_000)}\n\n`);
    expect(() => new EventStreamDecoder().push(bytes, events)).toThrow(/1 MiB/);
    expect(events).toEqual(data('first'));
  });

  it('refuses a line that never ends and an event of endless lines', () => {
    const endlessLine = new EventStreamDecoder();
    const block = Buffer.alloc(600_000, 'x');
    endlessLine.push(block);
    expect(() => endlessLine.push(block)).toThrow(/1 MiB/);
    const endlessEvent = new EventStreamDecoder();
    const line = Buffer.from(`data: ${'x'.repeat(600_000)}\n`);
    endlessEvent.push(line);
    expect(() => endlessEvent.push(line)).toThrow(/1 MiB/);
  });
});
