import { describe, expect, it } from '@jest/globals';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { SAMPLES } from '../../../test/support/token-samples.js';
import { estimateMessageTokens, IMAGE_TOKENS } from '../model-window.js';
import { answersIn, mostBodyTokens, mostInputTokens, outputLimitIn } from './worst-case.js';

const PIXELS = 'iVBORw0KGgo'.repeat(10_000);

describe('the tokens that a call can send at most', () => {
  it.each(Object.entries(SAMPLES))('are more than tokenizers count: %s', (_, text) => {
    const messages = [{ role: 'user', content: text } as const];
    const most = Math.max(cl100k(text), o200k(text));
    expect(mostInputTokens({ model: 'm', messages })).toBeGreaterThan(most);
    expect(mostBodyTokens({ model: 'm', messages })).toBeGreaterThan(most);
  });

  it('count images as images, whatever protocol they are in', () => {
    const content = [
      { type: 'text', text: 'What is this?' } as const,
      { type: 'image', mimeType: 'image/png', data: PIXELS } as const,
    ];
    const most = mostInputTokens({ model: 'm', messages: [{ role: 'user', content }] });
    const url = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}` } };
    const source = { type: 'base64', media_type: 'image/png', data: PIXELS };
    const bodies = [url, { type: 'image', source }].map((image) =>
      mostBodyTokens({ model: 'm', messages: [{ role: 'user', content: [content[0], image] }] }),
    );
    for (const tokens of [most, ...bodies]) {
      expect(tokens).toBeGreaterThan(IMAGE_TOKENS);
      expect(tokens).toBeLessThan(IMAGE_TOKENS + 500);
    }
  });

  it('include tools, formats and the calls of earlier answers', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ name: 'weather', description: 'Of a city', inputSchema: parameters }];
    const call = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}', input: {} };
    const question = { role: 'user', content: 'Oslo?' } as const;
    const plain = [question];
    const called = [...plain, { role: 'assistant', content: '', toolCalls: [call] } as const];
    const without = mostInputTokens({ model: 'm', messages: plain });
    const more = mostInputTokens({ model: 'm', messages: called, tools });
    const estimated = called.reduce((sum, one) => sum + estimateMessageTokens(one), 0);
    expect(without).toBeGreaterThan(estimateMessageTokens(question));
    expect(more - without).toBeGreaterThan(JSON.stringify(tools).length + estimated);
    expect(mostBodyTokens({ messages: plain, functions: tools })).toBeGreaterThan(more - 200);
  });
});

it('reads the limit of an answer by both of its names, and how many answers are asked for', () => {
  expect(outputLimitIn({ max_tokens: 5 })).toBe(5);
  expect(outputLimitIn({ max_tokens: 5, max_completion_tokens: 7 })).toBe(7);
  expect(outputLimitIn({ max_tokens: null })).toBeUndefined();
  expect([answersIn({}), answersIn({ n: 3 }), answersIn({ n: 0 })]).toEqual([1, 3, 1]);
});
