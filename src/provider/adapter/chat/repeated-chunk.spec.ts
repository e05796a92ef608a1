import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChatPart } from './chat.adapter.js';
import { ChatCompletionsStream } from './chat-completions.protocol.js';
import { RepeatedChunk } from './repeated-chunk.js';

function chunk(content: string, id = 'c1', finish: string | null = null): string {
  const delta = { content };
  return JSON.stringify({ id, choices: [{ index: 0, delta, finish_reason: finish }], usage: null });
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
    expect(learned('Hello').textOf(chunk(' world 你好'))).toBe(' world 你好');
  });

  it.each([
    ['another id', chunk('x', 'c2')],
    ['a finish reason', chunk('x', 'c1', 'stop')],
    ['an escaped quote', chunk('say "x"')],
    ['an escaped line end', chunk('a\nb')],
    ['an empty text', chunk('')],
    ['a text that closes the string', chunk('x').replace('"x"', '"x","role":"assistant"')],
  ])('leaves %s to the parser', (_, data) => {
    expect(learned('Hello').textOf(data)).toBeUndefined();
  });

  it('gives up on a service whose chunks are never alike', () => {
    const repeated = learned(...Array.from({ length: 20 }, (__, index) => `t${index}`));
    repeated.learn(chunk('new', 'c9'), { delta: { content: 'new' }, finish_reason: null });
    expect(repeated.textOf(chunk('x', 'c9'))).toBeUndefined();
  });

  it('finds what parsing every chunk finds, for any texts', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(texts, (contents) => {
        const stream = new ChatCompletionsStream({ address: 'http://localhost' }, true);
        const parts: ChatPart[] = [];
        for (const content of contents) {
          stream.read(Buffer.from(`data: ${chunk(content)}\n\n`), parts);
        }
        const found = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
        expect(found).toBe(contents.join(''));
      }),
    );
  });
});
