import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import {
  AdapterRegistry,
  chatAdapters,
  embeddingAdapters,
  rerankAdapters,
} from './adapter.registries.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const chat = new AdapterRegistry(chatAdapters(http));
const embedding = new AdapterRegistry(embeddingAdapters(http));
const rerank = new AdapterRegistry(rerankAdapters(http));
const options = {
  limits: { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 },
  signal: new AbortController().signal,
};
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

describe('a default address', () => {
  const adapters = [chat, embedding, rerank].flatMap((registry) =>
    registry.codes().map((code) => registry.get(code)),
  );
  const withDefault = adapters.flatMap((adapter) =>
    adapter.defaultAddress ? [[adapter.code, adapter.defaultAddress, adapter] as const] : [],
  );

  it.each(withDefault)(
    'of %s, %s, is called where its bare domain is',
    (_code, address, adapter) => {
      expect(adapter.endpoint(new URL(address).origin)).toBe(adapter.endpoint(address));
      expect(address).toMatch(/^https:\/\//);
    },
  );

  it('is that of every service which has one address for all', () => {
    const codes = new Set(withDefault.map(([code]) => code));
    const without = new Set(adapters.map(({ code }) => code).filter((code) => !codes.has(code)));
    expect([...without].toSorted()).toEqual([
      ...['alibailian', 'atlas', 'azure', 'bedrock', 'custom_api', 'custom_messages'],
      ...['custom_responses', 'infinity', 'llamacpp', 'lmstudio', 'ollama', 'ppio', 'sglang'],
      ...['tei', 'vertex', 'vllm'],
    ]);
  });
});

it('streams of Mistral end with usage, which it refuses to be asked for', async () => {
  // 2025-06, https://docs.mistral.ai/api, and reports of the same wording until 2026
  const detail = {
    type: 'extra_forbidden',
    loc: ['body', 'stream_options', 'include_usage'],
    msg: 'Extra inputs are not permitted',
    input: true,
  };
  const body = JSON.stringify({ object: 'error', message: { detail: [detail] } });
  simulator.script({ status: 422, body });
  const call = { model: 'sim', messages: [{ role: 'user', content: 'Hello' }] } as const;
  const connection = { address: simulator.url, credential: 'key' };
  let text = '';
  for await (const parts of chat.get('mistral').stream(call, connection, options)) {
    for (const part of parts) if (part.type === 'text-delta') text += part.text;
  }
  expect(text).not.toBe('');
  const asked = simulator.requests.map(({ body }) => 'stream_options' in (body as object));
  expect(asked).toEqual([true, false]);
});
