import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import { AdapterRegistry, chatAdapters } from '../../adapter.registries.js';
import type { FindingValue } from '../refused-parameters.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.1'] });
const adapter = new AdapterRegistry(chatAdapters(http)).get('custom_api');
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'text/event-stream');
    answer(response);
  });
});
let address = '';

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  await http.close();
  server.close();
});

const event = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta, finish_reason }] })}\n\n`;
const ended = (...deltas: readonly object[]): string =>
  deltas.map((delta) => event(delta)).join('') + event({}, 'stop');
const inPieces = (text: string): string => ended(...[...text].map((content) => ({ content })));

/** What a model answers, and what the call has learned. */
async function shown(model: string, bytes: string, facts = new Map<string, FindingValue>()) {
  answer = (response) => void response.end(bytes);
  const learned = new Map<string, FindingValue>();
  const findings = {
    facts,
    keep: async (found: ReadonlyMap<string, FindingValue>) => {
      for (const [name, value] of found) learned.set(name, value);
    },
    leftOut: () => undefined,
  };
  let thinking = '';
  let text = '';
  const messages = [{ role: 'user', content: 'Hi' }] as const;
  const options = { limits, signal: new AbortController().signal, findings };
  for await (const parts of adapter.stream({ model, messages }, { address }, options)) {
    for (const part of parts) {
      if (part.type === 'reasoning-delta') thinking += part.text;
      if (part.type === 'text-delta') text += part.text;
    }
  }
  return { thinking, text, learned };
}

const LONE = 'Let me see.\n</think>\n\nParis.';

it('is known of a model after its first answer, until one begins with text', async () => {
  const first = await shown('m', inPieces(LONE));
  expect(first).toMatchObject({ thinking: '', text: expect.stringMatching(/^Let me.*Paris\.$/s) });
  const second = await shown('m', inPieces(LONE), first.learned);
  expect(second).toEqual({ thinking: 'Let me see.', text: 'Paris.', learned: new Map() });
  const third = await shown('m', inPieces('Paris, again.'), first.learned);
  expect(third).toMatchObject({ text: 'Paris, again.' });
  const fourth = await shown('m', inPieces('Paris.'), third.learned);
  expect(fourth).toEqual({ thinking: '', text: 'Paris.', learned: new Map() });
  const cut = await shown('m', event({ content: 'Let me' }) + event({}, 'length'), first.learned);
  expect(cut).toEqual({ thinking: 'Let me', text: '', learned: new Map() });
});

it.each(['deepseek-ai/DeepSeek-R1', 'qwq-32b', 'Qwen3-30B-A3B-Thinking-2507', 'THUDM/GLM-Z1-9B'])(
  'is expected of %s, however its service writes it',
  async (model) => {
    const expected = { thinking: 'Let me see.', text: 'Paris.', learned: new Map() };
    expect(await shown(model, inPieces(LONE))).toEqual(expected);
    expect(await shown(model, inPieces(`<think>\n${LONE}`))).toEqual(expected);
    const apart = ended({ content: '', reasoning_content: 'Let me see.' }, { content: 'Paris.' });
    expect(await shown(model, apart)).toEqual(expected);
    expect(await shown(model, inPieces('Paris.'))).toMatchObject({ text: 'Paris.' });
  },
);

it('that reaches the limit of an answer in one piece is no text', async () => {
  const completed = async (content: string, more: object = {}) => {
    const choices = [{ message: { content }, finish_reason: 'length' }];
    answer = (response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices }));
    };
    const call = { model: 'qwq', messages: [{ role: 'user', content: 'Hi' }] as const, ...more };
    const options = { limits, signal: new AbortController().signal };
    const { text, reasoning } = await adapter.complete(call, { address }, options);
    return [text, reasoning];
  };
  expect(await completed('Let me see')).toEqual(['', 'Let me see']);
  expect(await completed('Let me see', { thinking: false })).toEqual(['', '']);
  expect(await completed('Hm.</think>Par', { thinking: false })).toEqual(['Par', '']);
  expect(await completed('Let me see', { model: 'm' })).toEqual(['Let me see', '']);
});

it('arrives as it is written', async () => {
  const released = Promise.withResolvers<unknown>();
  answer = (response) => {
    response.write(event({ content: 'Let me see. ' }));
    void released.promise.then(() => response.end(inPieces('Yes.</think>Paris.')));
  };
  const messages = [{ role: 'user', content: 'Hi' }] as const;
  const options = { limits, signal: new AbortController().signal };
  const types: string[] = [];
  for await (const parts of adapter.stream({ model: 'qwq', messages }, { address }, options)) {
    types.push(...parts.map(({ type }) => type));
    released.resolve(undefined);
  }
  expect(types[0]).toBe('reasoning-delta');
  expect(types).toContain('text-delta');
});
