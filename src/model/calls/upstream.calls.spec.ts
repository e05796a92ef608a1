import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { notTranslated, TRYING, unstoredCalls } from '../../../test/support/upstream-calls.js';
import type { UpstreamCall } from '../../platform/observability/index.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { ChatAdapterRegistry } from '../../provider/index.js';
import type { ResolvedChatModel } from '../model.resolver.js';
import { Attempt } from './attempt.js';
import type { AttemptStart } from './attempt.js';
import { estimateBodyTokens } from './call.route.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const adapter = new ChatAdapterRegistry(http).get('custom_api');
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
const ASKED = { messages: [{ role: 'user', content: 'Hello' } as const] };
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

function modelOf(modelName: string): ResolvedChatModel {
  return {
    id: 1,
    tenantId: '000000',
    revision: 1,
    modelName,
    label: modelName,
    category: 'chat',
    providerCode: 'custom_api',
    connection: { address: `${simulator.url}/v1`, credential: 'key' },
    adapter,
  };
}

/** Streams an answer until `enough` parts, and says what was counted. */
async function streamed(
  modelName: string,
  { enough = Infinity, signal = new AbortController().signal, attempts = 1 } = {},
): Promise<{ readonly counted: readonly UpstreamCall[]; readonly failure: unknown }> {
  const counted: UpstreamCall[] = [];
  const options = { use: TRYING, limits, signal, attempts };
  let failure: unknown;
  try {
    let seen = 0;
    const calls = unstoredCalls(undefined, counted);
    for await (const parts of calls.stream(modelOf(modelName), () => ASKED, options)) {
      seen += parts.length;
      if (seen >= enough) break;
    }
  } catch (error) {
    failure = error;
  }
  return { counted, failure };
}

it('counts each attempt by how it ended', async () => {
  const whole = await streamed('sim--chunks-3');
  expect(whole.counted).toMatchObject([{ provider: 'custom_api', kind: 'chat', outcome: 'ok' }]);
  const failed = await streamed('sim--status-503', { attempts: 3 });
  expect(failed.counted.map(({ outcome }) => outcome)).toEqual(Array(3).fill('overloaded'));
  expect(failed.failure).toMatchObject({ kind: 'overloaded' });
  const left = await streamed('sim--chunks-30', { enough: 2 });
  expect(left.counted).toMatchObject([{ outcome: 'aborted' }]);
  const cut = await streamed('sim--chunks-9--reset-2');
  expect(cut.counted).toHaveLength(1);
  expect(cut.counted[0]?.outcome).not.toBe('ok');
});

it('makes and counts no call once the signal has aborted', async () => {
  const { counted, failure } = await streamed('sim--chunks-3', { signal: AbortSignal.abort() });
  expect(failure).toMatchObject({ kind: 'aborted' });
  expect(counted).toEqual([]);
  expect(simulator.requests).toEqual([]);
});

it('counts calls with one answer, and passes a body on as it is but for the model', async () => {
  const counted: UpstreamCall[] = [];
  const calls = unstoredCalls(undefined, counted);
  const options = { use: TRYING, limits, signal: new AbortController().signal };
  const answer = await calls.complete(modelOf('sim--chunks-3'), () => ASKED, options);
  expect(answer.text.trim()).toBe('tok0 tok1 tok2');
  const body = { ...ASKED, model: 'as-asked', unknown: 1 };
  const relayed = { ...options, translated: notTranslated };
  const json = await calls.relay(modelOf('sim--chunks-2'), body, relayed);
  expect(JSON.parse(json as string)).toHaveProperty('usage');
  expect(simulator.requests.at(-1)?.body).toMatchObject({ model: 'sim--chunks-2', unknown: 1 });
  expect(counted.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
});

const start = (kind: AttemptStart['kind'] = 'chat'): AttemptStart => ({
  use: TRYING,
  kind,
  requestedModel: 'm',
  model: modelOf('m'),
  number: 1,
  sentTokens: () => 40,
});

it('takes the tokens that the service reports, and estimates those of a call that was cut', async () => {
  const reported = new Attempt(start());
  const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2, raw: undefined };
  reported.read([
    { type: 'text-delta', text: 'abcdefgh' },
    { type: 'usage', usage },
  ]);
  reported.end('left');
  expect(reported.tokens).toEqual({
    billed: {},
    inputTokens: 7,
    outputTokens: 3,
    cachedTokens: 2,
    reasoningTokens: 0,
    estimated: false,
  });
  const cut = new Attempt(start());
  cut.read([{ type: 'text-delta', text: 'abcdefgh请' }]);
  cut.end('left');
  expect(cut.tokens).toMatchObject({ inputTokens: 40, outputTokens: 3, estimated: true });
  expect(cut.outcome).toBe('aborted');
  const { failure } = await streamed('sim--status-401');
  const refused = new Attempt(start());
  refused.end({ error: failure });
  expect(refused.tokens).toMatchObject({ inputTokens: 0, outputTokens: 0, estimated: false });
  const embedded = new Attempt(start('embedding'));
  embedded.answered({ totalTokens: 9, raw: undefined });
  expect(embedded.tokens).toMatchObject({ inputTokens: 9, outputTokens: 0, estimated: false });
});

it('estimates what a body gives the model to read, images as images', () => {
  const image = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(9_000)}` },
  };
  const content = [{ type: 'text', text: 'abcdefgh' }, image];
  expect(estimateBodyTokens({ messages: [{ role: 'user', content }], model: 'm' })).toBe(1_602);
});
