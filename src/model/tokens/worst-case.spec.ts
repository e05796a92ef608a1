import { describe, expect, it } from '@jest/globals';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { SAMPLES } from '../../../test/support/token-samples.js';
import { estimateMessageTokens, IMAGE_TOKENS } from '../model-window.js';
import {
  answersIn,
  maxBodyTokens,
  maxInputTokens,
  maxServiceToolCalls,
  outputLimitIn,
} from './worst-case.js';

const PIXELS = 'iVBORw0KGgo'.repeat(10_000);

describe('the tokens that a call can send at most', () => {
  it.each(Object.entries(SAMPLES))('are more than tokenizers count: %s', (_, text) => {
    const messages = [{ role: 'user', content: text } as const];
    const most = Math.max(cl100k(text), o200k(text));
    expect(maxInputTokens({ model: 'm', messages })).toBeGreaterThan(most);
    expect(maxBodyTokens({ model: 'm', messages })).toBeGreaterThan(most);
  });

  it('count images as images, whatever protocol they are in', () => {
    const content = [
      { type: 'text', text: 'What is this?' } as const,
      { type: 'image', mimeType: 'image/png', data: PIXELS } as const,
    ];
    const most = maxInputTokens({ model: 'm', messages: [{ role: 'user', content }] });
    const url = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}` } };
    const source = { type: 'base64', media_type: 'image/png', data: PIXELS };
    const bodies = [url, { type: 'image', source }].map((image) =>
      maxBodyTokens({ model: 'm', messages: [{ role: 'user', content: [content[0], image] }] }),
    );
    for (const tokens of [most, ...bodies]) {
      expect(tokens).toBeGreaterThan(IMAGE_TOKENS);
      expect(tokens).toBeLessThan(IMAGE_TOKENS + 500);
    }
  });

  it('are the context window for what is given by address, or packed', () => {
    const address = 'https://files.test/a';
    const parts = [
      { type: 'image_url', image_url: { url: address } },
      { type: 'video_url', video_url: { url: address } },
      { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AA' } },
      { type: 'video', video: [address, address] },
      { type: 'input_audio', input_audio: { data: address, format: 'mp3' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } },
      { type: 'image', source: { type: 'url', url: address } },
      { type: 'document', source: { type: 'url', url: address } },
      { type: 'document', source: { type: 'file', file_id: 'file-1' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA' } },
      { type: 'container_upload', file_id: 'file-1' },
      { type: 'of_later_versions', place: { uri: 'gs://files/a' } },
    ];
    const bodies = parts.flatMap((part) =>
      [[part], [{ type: 'tool_result', content: [part] }]].map((content) => ({
        messages: [{ role: 'user', content }],
      })),
    );
    const fileInText = [
      { messages: [{ role: 'system', content: 'fileid://file-1' }] },
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'fileid://file-1' }] }] },
    ];
    for (const body of [...bodies, ...fileInText]) {
      expect([body, maxBodyTokens(body, 200_000)]).toEqual([body, 200_000]);
      expect(maxBodyTokens(body)).toBe(10_000_000);
      // Text that is larger counts as it is.
      expect(maxBodyTokens({ ...body, user: PIXELS }, 1_000)).toBeGreaterThan(PIXELS.length);
    }
    const content = [{ type: 'image-url', url: address } as const];
    const call = { model: 'm', messages: [{ role: 'user', content } as const] };
    expect(maxInputTokens(call, 200_000)).toBe(200_000);
    expect(maxInputTokens(call)).toBe(10_000_000);
    const system = { role: 'system', content: 'fileid://file-1' } as const;
    expect(maxInputTokens({ model: 'm', messages: [system] }, 200_000)).toBe(200_000);
    const text = { type: 'text', text: 'fileid://file-1' } as const;
    const user = { role: 'user', content: [text] } as const;
    expect(maxInputTokens({ model: 'm', messages: [user] }, 200_000)).toBe(200_000);
  });

  it('are those of the text where an address is no more than that', () => {
    const address = 'https://files.test/a';
    const data = `data:image/png;base64,${PIXELS}`;
    const parts = [
      { type: 'text', text: `See ${address}.`, citations: [{ url: address }] },
      { type: 'text', text: { toString: 1 } },
      { type: 'tool_use', id: 't', name: 'fetch', input: { url: address } },
      { type: 'search_result', source: address, content: [{ type: 'text', text: 'x' }] },
      { type: 'web_search_tool_result', content: [{ type: 'web_search_result', url: address }] },
      { type: 'thinking', thinking: address, signature: 's' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: address } },
      { type: 'image_url', image_url: { url: data } },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'mp3' } },
      { type: 'tool_result', content: address },
    ];
    const tools = [{ name: 'fetch', input_schema: { properties: { url: { default: address } } } }];
    const messages = [
      { role: 'user', content: address },
      { role: 'user', content: parts },
    ];
    expect(maxBodyTokens({ messages, tools }, 200_000)).toBeLessThan(10_000);
    const texts = [{ role: 'user', content: address } as const];
    expect(maxInputTokens({ model: 'm', messages: texts }, 200_000)).toBeLessThan(1_000);
  });

  it('include tools, formats and the calls of earlier answers', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ name: 'weather', description: 'Of a city', inputSchema: parameters }];
    const call = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}', input: {} };
    const question = { role: 'user', content: 'Oslo?' } as const;
    const plain = [question];
    const called = [...plain, { role: 'assistant', content: '', toolCalls: [call] } as const];
    const without = maxInputTokens({ model: 'm', messages: plain });
    const more = maxInputTokens({ model: 'm', messages: called, tools });
    const estimated = called.reduce((sum, one) => sum + estimateMessageTokens(one), 0);
    expect(without).toBeGreaterThan(estimateMessageTokens(question));
    expect(more - without).toBeGreaterThan(JSON.stringify(tools).length + estimated);
    expect(maxBodyTokens({ messages: plain, functions: tools })).toBeGreaterThan(more - 200);
  });
});

it('count as text what looks like an image where a model reads text', () => {
  const image = { type: 'image', source: { type: 'base64', data: PIXELS }, note: 'Look' };
  const input = { content: [image] };
  const schema = { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXELS}` } };
  const bodies = [
    { messages: [], tools: [{ name: 'f', input_schema: schema }] },
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't', input }] }] },
    { messages: [{ role: 'user', content: [{ ...image, note: PIXELS }] }] },
    { messages: [{ role: 'user', content: [{ type: 'image_url', text: PIXELS }] }] },
  ];
  for (const body of bodies) expect(maxBodyTokens(body)).toBeGreaterThan(PIXELS.length);

  const result = { type: 'tool_result', content: [image] };
  const read = maxBodyTokens({ messages: [{ role: 'user', content: [result] }] });
  expect(read).toBeGreaterThan(IMAGE_TOKENS);
  expect(read).toBeLessThan(IMAGE_TOKENS + 500);

  const shown = { type: 'input_image', image_url: `data:image/png;base64,${PIXELS}` };
  const seen = { input: [{ type: 'message', role: 'user', content: [shown] }] };
  expect(maxBodyTokens(seen)).toBeGreaterThan(IMAGE_TOKENS);
  expect(maxBodyTokens(seen)).toBeLessThan(IMAGE_TOKENS + 500);
  const hidden = { type: 'input_file', file_id: 'file_1' };
  const withFile = { input: [{ type: 'message', role: 'user', content: [hidden] }] };
  expect(maxBodyTokens(withFile, 40_000)).toBe(40_000);
});

it('reads the limit of an answer by all of its names, and how many answers are asked for', () => {
  expect(outputLimitIn({ max_tokens: 5 })).toBe(5);
  expect(outputLimitIn({ max_tokens: 5, max_completion_tokens: 7 })).toBe(7);
  expect(outputLimitIn({ max_tokens: 9, max_completion_tokens: 7 })).toBe(9);
  expect(outputLimitIn({ max_tokens: 5, max_completion_tokens: null })).toBe(5);
  expect(outputLimitIn({ max_tokens: 5, n_predict: 5_000 })).toBe(5_000);
  for (const none of [null, undefined, -1, 0, 0.5, '5', Infinity, {}]) {
    expect(outputLimitIn({ max_tokens: none })).toBeUndefined();
  }
  expect(outputLimitIn({ max_tokens: 5, n_predict: -1 })).toBeUndefined();
  expect([answersIn({}), answersIn({ n: 3 }), answersIn({ n: 0 })]).toEqual([1, 3, 1]);
  expect([answersIn({ n: '4' }), answersIn({ n: 1, best_of: 5 })]).toEqual([4, 5]);
});

/** The tools as the services document them (2026-11-28): docs.claude.com web search, OpenAI responses, web search options. */
describe('the calls of tools of the service that a request allows', () => {
  const search = { type: 'web_search_20250305', name: 'web_search' };
  it.each([
    ['no tools', {}, 0, 0],
    [
      'a function of the client',
      { tools: [{ type: 'function', function: {} }, { name: 'a' }] },
      0,
      0,
    ],
    ['a limit of the tool', { tools: [{ ...search, max_uses: 3 }] }, 3, 0],
    ['no limit', { tools: [search, { type: 'code_execution_20250825', name: 'c' }] }, 10, 10],
    [
      'a limit of the answer',
      { tools: [{ type: 'web_search' }, { type: 'code_interpreter' }], max_tool_calls: 2 },
      2,
      2,
    ],
    ['a limit that is none', { tools: [{ ...search, max_uses: -1 }] }, 10, 0],
    ['a model that searches', { web_search_options: {} }, 1, 0],
  ])('%s', (_, body, webSearches, codeRuns) => {
    expect(maxServiceToolCalls(body)).toEqual({ webSearches, codeRuns });
  });
});
