import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChatPart } from './chat.adapter.js';
import { ChatCompletionsStream } from './chat-completions.protocol.js';
import { RepeatedChunk } from './stream-mapping.js';

function chunk(content: string, id = 'c1', finish: string | null = null): string {
  const delta = { content };
  return JSON.stringify({ id, choices: [{ index: 0, delta, finish_reason: finish }], usage: null });
}

function framed(data: string): Buffer {
  return Buffer.from(`data: ${data}\n\n`);
}

function learned(...texts: string[]): RepeatedChunk {
  const repeated = new RepeatedChunk();
  for (const content of texts) {
    repeated.learn(chunk(content), { delta: { content }, finish_reason: null });
  }
  return repeated;
}

describe('RepeatedChunk', () => {
  it('reads the text of a chunk that differs in nothing else', () => {
    const repeated = learned('Hello');
    const event = framed(chunk(' world 你好'));
    expect(repeated.endIn(Buffer.concat([event, event]), event.length)).toBe(2 * event.length);
    expect(repeated.text).toBe(' world 你好');
  });

  it.each([
    ['another id', chunk('x', 'c2')],
    ['a finish reason', chunk('x', 'c1', 'stop')],
    ['an escaped quote', chunk('say "x"')],
    ['an escaped line end', chunk('a\nb')],
    ['an empty text', chunk('')],
    ['a text that closes the string', chunk('x').replace('"x"', '"x","role":"assistant"')],
  ])('leaves %s to the parser', (_, data) => {
    expect(learned('Hello').endIn(framed(data), 0)).toBe(0);
  });

  it.each([
    ['another field', `{"z":{"content":"Hi"},"choices":[{"delta":{"content" :"Hi"}}]}`],
    ['a field that is given twice', `{"choices":[{"delta":{"content":"Hi","content" :"Hi"}}]}`],
    ['one of two answers', `{"choices":[{"delta":{"content":"Hi"}},{"delta":{}}]}`],
    ['another answer', `{"choices":[{"index":1,"delta":{"content":"Hi"}}]}`],
  ])('learns nothing of the text of %s', (_, data) => {
    const repeated = new RepeatedChunk();
    repeated.learn(data, { delta: { content: 'Hi' } });
    expect(repeated.endIn(framed(data), 0)).toBe(0);
  });

  it('waits for the end of a chunk that is cut', () => {
    const event = framed(chunk('x'));
    const repeated = learned('Hello');
    for (let end = 0; end < event.length; end += 1) {
      expect(repeated.endIn(event.subarray(0, end), 0)).toBe(0);
    }
  });

  it('gives up on a service whose chunks are never alike', () => {
    const repeated = learned(...Array.from({ length: 20 }, (__, index) => `t${index}`));
    repeated.learn(chunk('new', 'c9'), { delta: { content: 'new' }, finish_reason: null });
    expect(repeated.endIn(framed(chunk('x', 'c9')), 0)).toBe(0);
  });

  it('finds what parsing every chunk finds, for any texts and wherever the reads are cut', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), {
      minLength: 1,
      maxLength: 30,
    });
    const sizes = fc.array(fc.nat(300), { maxLength: 30 });
    fc.assert(
      fc.property(texts, sizes, (contents, cuts) => {
        const stream = new ChatCompletionsStream({ address: 'http://localhost' }, true);
        const parts: ChatPart[] = [];
        const bytes = Buffer.concat(contents.map((content) => framed(chunk(content))));
        let start = 0;
        for (const size of [...cuts, bytes.length]) {
          stream.read(bytes.subarray(start, start + size), parts);
          start += size;
        }
        const found = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
        expect(found).toBe(contents.join(''));
      }),
    );
  });
});
