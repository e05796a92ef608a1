import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { EventStreamDecoder, JsonLinesDecoder } from './model-call.js';
import type { StreamDecoder } from './model-call.js';

function decode(
  reads: readonly Buffer[],
  decoder: StreamDecoder = new EventStreamDecoder(),
): string[] {
  return [...reads.flatMap((bytes) => decoder.push(bytes)), ...decoder.end()];
}

test.each<[string, string, string[]]>([
  ['LF', 'data: a\n\ndata: b\n\n', ['a', 'b']],
  ['CR LF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
  ['CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
  ['mixed ends', 'data: a\r\n\ndata: b\r\ndata: c\r\r', ['a', 'b\nc']],
  ['no space after the colon', 'data:a\n\n', ['a']],
  ['only the first space is dropped', 'data:  a \n\n', [' a ']],
  ['several data lines', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
  ['a field without a colon', 'data\n\n', ['']],
  ['comments', ': ping\n\n:\ndata: a\n: x\n\n', ['a']],
  ['other fields', 'id: 1\nretry: 10\ndatabase: no\ndata: a\n\n', ['a']],
  ['event names', 'event: ping\ndata: a\n\ndata: b\n\n', ['a', 'b']],
  ['an event without data', 'event: ping\n\ndata: a\n\n', ['a']],
  ['a byte order mark', '\uFEFFdata: a\n\n', ['a']],
  ['an unterminated last event', 'data: a\n\ndata: b', ['a', 'b']],
  ['an end inside of an event', 'data: a\n', ['a']],
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

test.each<[string, string, string[]]>([
  ['LF', '{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
  ['CR LF', '{"a":"é🙂"}\r\n{"b":2}\r\n', ['{"a":"é🙂"}\r', '{"b":2}\r']],
  ['empty lines', '\n\n{"a":1}\n \n', ['{"a":1}']],
  ['an unterminated last line', '{"a":1}\n{"b":', ['{"a":1}', '{"b":']],
  ['nothing', '', []],
])('JSON lines: %s, however the reads are cut', (_name, text, expected) => {
  const bytes = Buffer.from(text);
  const single = [...bytes].map((byte) => Buffer.from([byte]));
  expect(decode([bytes], new JsonLinesDecoder())).toEqual(expected);
  expect(decode(single, new JsonLinesDecoder())).toEqual(expected);
});

describe('limits', () => {
  it('refuses one event of more than 1 MiB, after the events before it', () => {
    const events: string[] = [];
    const bytes = Buffer.from(`data: first\n\ndata: ${'x'.repeat(1_100_000)}\n\n`);
    expect(() => new EventStreamDecoder().push(bytes, events)).toThrow(/1 MiB/);
    expect(events).toEqual(['first']);
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

  it('refuses a JSON line that never ends, and a whole one of more than 1 MiB', () => {
    const endless = new JsonLinesDecoder();
    const block = Buffer.alloc(600_000, 'x');
    endless.push(block);
    expect(() => endless.push(block)).toThrow(/1 MiB/);
    const lines: string[] = [];
    const bytes = Buffer.from(`1\n"${'x'.repeat(1_100_000)}"\n`);
    expect(() => new JsonLinesDecoder().push(bytes, lines)).toThrow(/1 MiB/);
    expect(lines).toEqual(['1']);
  });
});
