import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { limitsOf } from '../../../test/support/stream-faults.js';
import { newBus, TestHealth, TRYING, unstoredCalls } from '../../../test/support/upstream-calls.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  UpstreamError,
} from '../../provider/index.js';
import type { CallLimits, ChatCall, ChatPart } from '../../provider/index.js';
import type { ResolvedChatModel, ResolvedEmbeddingModel } from '../model.resolver.js';
import { LimitReachedError } from '../../usage/index.js';
import type { LimitedCall, UsageEntry } from '../../usage/index.js';
import { CallTrail } from './attempt.js';
import type { UpstreamCalls } from './upstream.calls.js';
import { weighted } from './upstream.health.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const chats = new ChatAdapterRegistry(http);
const LIMITS = limitsOf({});
/** Of calls that a service does not answer. */
const SILENT = limitsOf({ isSilent: true });
const ASKED: Omit<ChatCall, 'model'> = { messages: [{ role: 'user', content: 'Hello' }] };
const ANSWER = 'sim--chunks-3';
const SECOND = 2;
let first: Simulator;
let second: Simulator;
let health: TestHealth;

beforeAll(async () => {
  first = await startSimulator();
  second = await startSimulator();
});
beforeEach(() => {
  health = new TestHealth();
});
afterEach(() => {
  first.reset();
  second.reset();
});
afterAll(async () => {
  await http.close();
  await first.close();
  await second.close();
});

function modelOf(modelName: string, more: Partial<ResolvedChatModel> = {}): ResolvedChatModel {
  return {
    id: 1,
    tenantId: '000000',
    revision: 1,
    modelName,
    label: modelName,
    category: 'chat',
    providerCode: 'custom_api',
    connection: { address: `${first.url}/v1`, credential: 'key' },
    adapter: chats.get('custom_api'),
    ...more,
  };
}

/** The model of the second service, to which the first one falls back. */
function fallbackOf(more: Partial<ResolvedChatModel> = {}): ResolvedChatModel {
  const connection = { address: `${second.url}/v1`, credential: 'other' };
  return modelOf(ANSWER, { id: SECOND, connection, ...more });
}

/** The model with further keys, by which requests are told apart. */
function withKeys(model: ResolvedChatModel, weights: readonly number[]): ResolvedChatModel {
  const variants = weights.map((keyWeight, at) => ({
    ...model,
    ...(at > 0 && { keyId: at }),
    keyWeight,
    connection: { ...model.connection, credential: `key-${at}` },
  }));
  return { ...model, variants };
}

interface Run {
  readonly fallbacks?: readonly ResolvedChatModel[];
  readonly attempts?: number;
  readonly call?: Omit<ChatCall, 'model'>;
  readonly signal?: AbortSignal;
  readonly limits?: CallLimits;
}

async function run(
  model: ResolvedChatModel,
  { fallbacks = [fallbackOf()], attempts = 1, call = ASKED, signal, limits = LIMITS }: Run = {},
) {
  const attempted: UsageEntry[] = [];
  const trail = new CallTrail();
  const ids = fallbacks.map(({ id }) => id);
  const asked = ids.length > 0 ? { ...model, fallbackIds: ids } : model;
  const calls = unstoredCalls(undefined, [], { fallbacks, health, attempted });
  const parts: ChatPart[] = [];
  let failure: unknown;
  try {
    const stream = calls.stream(asked, () => call, {
      use: { ...TRYING, trail },
      limits,
      signal: signal ?? new AbortController().signal,
      attempts,
    });
    for await (const some of stream) parts.push(...some);
  } catch (error) {
    failure = error;
  }
  const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  const recorded = attempted.map(({ attempt, model_id: id, outcome }) => [attempt, id, outcome]);
  return { parts, text: text.trim(), failure, recorded, trail };
}

const keysSent = (simulator: Simulator): unknown[] =>
  simulator.requests.map(({ headers }) => headers['authorization']);

const WORDS = 'tok0 tok1 tok2';

// Every fault of a stream: stream-faults.spec.ts.
describe('a stream with a fallback', () => {
  it('is answered by it after a failure, and says so', async () => {
    const { text, failure, recorded, trail } = await run(modelOf('sim--status-503'));
    expect(failure).toBeUndefined();
    expect(text).toBe(WORDS);
    expect(recorded).toEqual([
      [1, 1, 'overloaded'],
      [2, SECOND, 'ok'],
    ]);
    expect(trail.attempts).toMatchObject([
      { model: 'sim--status-503', outcome: 'overloaded' },
      { model: ANSWER, outcome: 'ok' },
    ]);
    expect([trail.modelName, trail.isEventful]).toEqual([ANSWER, true]);
  });

  it('is not begun again after its first part, where there are more attempts', async () => {
    const { failure, recorded } = await run(modelOf('sim--chunks-20--cut-3'), { attempts: 3 });
    expect(failure).toMatchObject({ kind: 'cut' });
    expect(recorded).toHaveLength(1);
    expect(second.requests).toEqual([]);
  });

  it.each(['hold', 'huge', 'chunks-9--malformed-0'])(
    'is not begun again with the same model after %s',
    async (fault) => {
      const { text, recorded } = await run(modelOf(`sim--${fault}`), {
        attempts: 3,
        limits: SILENT,
      });
      expect(text).toBe(WORDS);
      expect(recorded.map(([, id]) => id)).toEqual([1, SECOND]);
    },
  );

  it.each([400, 413, 422])(
    'is not sent elsewhere when the request itself is refused: %d',
    async (status) => {
      const { failure, recorded } = await run(modelOf(`sim--status-${status}`));
      expect(failure).toMatchObject({ kind: 'invalid-request', status });
      expect(recorded).toHaveLength(1);
      expect(second.requests).toEqual([]);
    },
  );

  it('is not sent elsewhere when its answer cannot be used, or when it was aborted', async () => {
    first.script({ toolCalls: [{ name: 'note' }], length: true, finishReason: 'length' });
    expect((await run(modelOf('sim'))).failure).toMatchObject({ kind: 'content' });
    expect((await run(modelOf(ANSWER), { signal: AbortSignal.abort() })).failure).toMatchObject({
      kind: 'aborted',
    });
    expect(second.requests).toEqual([]);
  });

  it('is tried again with its model first, then with each fallback in order', async () => {
    const broken = fallbackOf({ modelName: 'sim--status-503' });
    const last = fallbackOf({ id: 3 });
    const { text, recorded } = await run(modelOf('sim--status-503'), {
      fallbacks: [broken, last],
      attempts: 2,
    });
    expect(text).toBe(WORDS);
    expect(recorded.map(([, id]) => id)).toEqual([1, 1, SECOND, SECOND, 3]);
    expect(recorded.map(([number]) => number)).toEqual([1, 2, 3, 4, 5]);
  });

  it('fails with what its model has failed with when every fallback does', async () => {
    const refused = fallbackOf({ modelName: 'sim--status-400' });
    const { failure } = await run(modelOf('sim--status-503'), { fallbacks: [refused] });
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(failure).toMatchObject({ status: 503 });
  });

  describe('whose request is longer than the window of its model', () => {
    const tooLong = { error: { message: 'prompt is too long', code: 'context_length_exceeded' } };
    const overflow = { match: { model: 'sim-chat' }, status: 400, body: JSON.stringify(tooLong) };
    const asked = (more: Partial<ResolvedChatModel>) => modelOf('sim-chat', more);

    it('goes to the first fallback that is known to have a larger one, and to no other', async () => {
      const fallbacks = [
        fallbackOf({ id: 2 }),
        fallbackOf({ id: 3, contextWindow: 8_000 }),
        fallbackOf({ id: 4, contextWindow: 16_000, modelName: 'sim--status-503' }),
        fallbackOf({ id: 5, contextWindow: 9_000 }),
      ];
      first.script(overflow);
      const { text, recorded } = await run(asked({ contextWindow: 8_000 }), { fallbacks });
      expect(text).toBe(WORDS);
      expect(recorded).toEqual([
        [1, 1, 'context-length'],
        [2, 4, 'overloaded'],
        [3, 5, 'ok'],
      ]);
    });

    it('fails as it did where there is none', async () => {
      first.script(overflow);
      const fallbacks = [fallbackOf(), fallbackOf({ id: 3, contextWindow: 4_000 })];
      const { failure, recorded } = await run(asked({ contextWindow: 8_000 }), { fallbacks });
      expect(failure).toMatchObject({ kind: 'context-length', vendorText: 'prompt is too long' });
      expect(recorded).toHaveLength(1);
    });

    it('is made shorter only where there is none', async () => {
      const shortened: unknown[] = [];
      for (const contextWindow of [16_000, 4_000]) {
        first.script(overflow);
        const fallback = fallbackOf({ contextWindow });
        const calls = unstoredCalls(undefined, [], { fallbacks: [fallback], health });
        const model = asked({ contextWindow: 8_000, fallbackIds: [SECOND] });
        const trail = new CallTrail();
        await calls.complete(model, () => ASKED, {
          use: { ...TRYING, trail },
          limits: LIMITS,
          signal: new AbortController().signal,
          overflow: () => shortened.push(contextWindow),
        });
        expect(trail.attempts.map(({ outcome }) => outcome)).toEqual(['context-length', 'ok']);
      }
      expect(shortened).toEqual([4_000]);
    });
  });

  it('ends after so many attempts', async () => {
    const broken = (id: number) => fallbackOf({ id, modelName: 'sim--status-404' });
    const fallbacks = Array.from({ length: 20 }, (_, at) => broken(at + 2));
    const { recorded } = await run(modelOf('sim--status-404'), { fallbacks });
    expect(recorded).toHaveLength(10);
  });

  it('passes over fallbacks that cannot answer', async () => {
    const tools = [{ name: 'note', description: 'Notes', inputSchema: { type: 'object' } }];
    const without = fallbackOf({ supportsTools: false });
    const small = fallbackOf({ id: 3, contextWindow: 1 });
    const missing = { ...fallbackOf({ id: 4 }) };
    const good = fallbackOf({ id: 5, supportsTools: true, maxOutput: 7 });
    const { recorded } = await run(modelOf('sim--status-503'), {
      fallbacks: [without, small, { ...missing, supportsTools: false }, good],
      call: { ...ASKED, tools, maxTokens: 100 },
    });
    expect(recorded.map(([, id]) => id)).toEqual([1, 5]);
    expect(second.requests.at(-1)?.body).toMatchObject({ max_tokens: 7 });
  });
});

describe('several keys', () => {
  it('are used by their weights', async () => {
    const keys = [{ keyWeight: 1 }, { keyWeight: 3 }];
    const chosen = Array.from({ length: 400 }, (_, at) => weighted(keys, at / 400));
    expect(chosen.filter((one) => one === keys[0])).toHaveLength(100);
    const model = withKeys(modelOf(ANSWER), [1, 3]);
    for (const chance of [0.1, 0.3, 0.9]) {
      health.chance = chance;
      await run(model, { fallbacks: [] });
    }
    expect(keysSent(first)).toEqual(['Bearer key-0', 'Bearer key-1', 'Bearer key-1']);
  });

  it.each(['status-401', 'status-429', 'status-429--retryafter-60'])(
    'stand in for one another after %s, also where there is one attempt',
    async (fault) => {
      first.script({ status: Number(/\d+/.exec(fault)?.[0]) });
      const { text, recorded } = await run(withKeys(modelOf(ANSWER), [1, 1]), {
        fallbacks: [],
        attempts: 2,
      });
      expect(text).toBe(WORDS);
      expect(recorded).toHaveLength(2);
      expect(keysSent(first)).toEqual(['Bearer key-0', 'Bearer key-1']);
    },
  );

  it('are passed over while they cool down, and tried when there is nothing else', async () => {
    const busy = withKeys(modelOf('sim--status-429--retryafter-60'), [1, 1]);
    await run(busy, { fallbacks: [] });
    expect(keysSent(first)).toEqual(['Bearer key-0']);
    await run(busy, { fallbacks: [] });
    expect(keysSent(first)).toEqual(['Bearer key-0', 'Bearer key-1']);
    expect(health.cooldownsOf(busy.variants ?? [])).toMatchObject([
      { keyId: null, reason: 'busy', milliseconds: 60_000 },
      { keyId: 1, reason: 'busy', milliseconds: 60_000 },
    ]);
    const third = await run(busy, { fallbacks: [] });
    expect(third.failure).toMatchObject({ status: 429 });
    expect(first.requests).toHaveLength(3);
    health.time += 60_000;
    expect(health.cooldownsOf(busy.variants ?? [])).toEqual([]);
  });
});

describe('an address that fails', () => {
  const broken = (): ResolvedChatModel => ({
    ...modelOf('sim--status-500'),
    fallbackIds: [SECOND],
  });

  it('is passed over after five failures, then tried by one call', async () => {
    for (let at = 0; at < 5; at++) await run(broken());
    expect(first.requests).toHaveLength(5);
    await run(broken());
    expect(first.requests).toHaveLength(5);
    health.time += 30_000;
    const model = modelOf(ANSWER);
    expect(health.isAvailable(model)).toBe(true);
    expect(health.begin(model)).toBe(true);
    expect(health.isAvailable(model)).toBe(false);
    health.abandoned(model);
    await run(model);
    expect(first.requests).toHaveLength(6);
    expect(health.isAvailable(broken())).toBe(true);
  });

  describe('is still to be tried by another call after one', () => {
    const reached = new LimitReachedError({
      ...{ id: 1, scope: 'tenant', measure: 'requests-minute', cap: 1, used: 1, reserved: 0 },
      ...{ needed: 1, isPassing: true, retrySeconds: 60 },
    });
    const limits: ResolvedChatModel['limits'] = [
      {
        ...{ id: 1, userId: null, apiKeyId: null, modelId: null, groupId: null, tag: null },
        scope: 'tenant',
        measure: 'requests-minute',
      },
    ];
    const limiter = {
      reserve: () => Promise.reject(reached),
      maxOutput: () => undefined,
    };

    beforeEach(async () => {
      for (let at = 0; at < 5; at++) await run(broken());
      first.reset();
      health.time += 30_000;
      expect(health.isAvailable(modelOf(ANSWER))).toBe(true);
    });

    afterEach(async () => {
      expect(first.requests).toEqual([]);
      expect(health.isAvailable(modelOf(ANSWER))).toBe(true);
      await run(modelOf(ANSWER));
      expect(first.requests).toHaveLength(1);
    });

    const asked = (more: Partial<ResolvedChatModel> = {}): ResolvedChatModel =>
      modelOf(ANSWER, { fallbackIds: [SECOND], ...more });
    const made = (): UpstreamCalls =>
      unstoredCalls(undefined, [], { fallbacks: [fallbackOf()], health, limiter });
    const options = { use: TRYING, limits: LIMITS, signal: new AbortController().signal };

    it('whose signal has aborted', async () => {
      const signal = AbortSignal.abort();
      expect((await run(asked(), { signal })).failure).toMatchObject({ kind: 'aborted' });
      const completing = made().complete(asked(), () => ASKED, { ...options, signal });
      await expect(completing).rejects.toMatchObject({ kind: 'aborted' });
    });

    it('that a limit has refused', async () => {
      const limited = asked({ limits });
      await expect(made().complete(limited, () => ASKED, options)).rejects.toBe(reached);
      expect(health.isAvailable(limited)).toBe(true);
      const stream = made().stream(limited, () => ASKED, options);
      await expect(stream[Symbol.asyncIterator]().next()).rejects.toBe(reached);
    });

    it('that could not be put together', async () => {
      const callOf = (): never => {
        throw new TypeError('No call.');
      };
      await expect(made().complete(asked(), callOf, options)).rejects.toThrow('No call.');
      expect(health.isAvailable(asked())).toBe(true);
      const stream = made().stream(asked(), callOf, options);
      await expect(stream[Symbol.asyncIterator]().next()).rejects.toThrow('No call.');
    });
  });

  it('is called all the same where there is nothing else', async () => {
    for (let at = 0; at < 7; at++) await run(broken(), { fallbacks: [] });
    expect(first.requests).toHaveLength(7);
  });

  it('is another one for another tenant', async () => {
    for (let at = 0; at < 5; at++) await run(broken());
    expect(health.isAvailable(modelOf(ANSWER))).toBe(false);
    expect(health.isAvailable(modelOf(ANSWER, { tenantId: '700001' }))).toBe(true);
  });

  it('is told to other processes without its address or key, and so is its recovery', async () => {
    const bus = newBus();
    const sent: unknown[] = [];
    bus.subscribe('upstream.cooldown', (event) => sent.push(event));
    health = new TestHealth(bus);
    const other = new TestHealth(bus);
    for (let at = 0; at < 5; at++) await run(broken());
    expect(other.isAvailable(modelOf(ANSWER))).toBe(false);
    health.time += 30_000;
    await run(modelOf(ANSWER));
    expect(other.isAvailable(modelOf(ANSWER))).toBe(true);
    const refused = withKeys(modelOf('sim--status-401'), [1]);
    await run(refused, { fallbacks: [] });
    expect(other.cooldownsOf(refused.variants ?? [])).toMatchObject([{ reason: 'refused' }]);
    expect(sent).toHaveLength(3);
    expect(JSON.stringify(sent)).not.toMatch(/key-0|127\.0\.0\.1/);
  });
});

it('says to limits which attempts are made at a model again, also where its caller repeats the call', async () => {
  const reserved: [number, number, boolean][] = [];
  const limiter = {
    reserve: async ({ model, number, isRepeat }: LimitedCall) => {
      reserved.push([model.id, number, isRepeat]);
      return undefined;
    },
    maxOutput: () => undefined,
  };
  const trail = new CallTrail();
  const away = { modelName: 'sim--status-503', limits: [] };
  const fallbacks = [fallbackOf(away)];
  const calls = unstoredCalls(undefined, [], { fallbacks, health, limiter });
  const failing = async (): Promise<void> => {
    const options = { use: { ...TRYING, trail }, limits: LIMITS, attempts: 2 };
    const repeated = { firstAttempt: trail.size + 1, signal: new AbortController().signal };
    const asked = modelOf('sim--status-503', { ...away, fallbackIds: [SECOND] });
    const completing = calls.complete(asked, () => ASKED, { ...options, ...repeated });
    await expect(completing).rejects.toMatchObject({ status: 503 });
  };
  await failing();
  await failing();
  expect(reserved).toEqual([
    [1, 1, false],
    [1, 2, true],
    [SECOND, 3, false],
    [SECOND, 4, true],
    ...[5, 6].map((number) => [1, number, true]),
    ...[7, 8].map((number) => [SECOND, number, true]),
  ]);
});

describe('a relayed body', () => {
  const asked = (): ResolvedChatModel => ({
    ...modelOf('sim--status-503'),
    fallbackIds: [SECOND],
  });
  const body = { ...ASKED, model: 'as-asked', unknown: 1 };
  const ollama = (): ResolvedChatModel =>
    fallbackOf({
      ...{ providerCode: 'ollama', adapter: chats.get('ollama') },
      connection: { address: second.url },
    });
  const callsTo = (fallback: ResolvedChatModel) =>
    unstoredCalls(undefined, [], { fallbacks: [fallback], health });
  const optionsWith = (translated: () => Omit<ChatCall, 'model'>) => {
    const { signal } = new AbortController();
    return { use: TRYING, limits: LIMITS, signal, translated };
  };
  const options = optionsWith(() => ({ ...ASKED, maxTokens: 7 }));

  it('goes to a fallback of the same protocol', async () => {
    const json = await callsTo(fallbackOf()).relay(asked(), body, options);
    expect(JSON.parse(json as string)).toHaveProperty('usage');
    expect(second.requests.at(-1)?.body).toMatchObject({ model: ANSWER, unknown: 1 });
  });

  it('is translated for a fallback of another protocol', async () => {
    const answer = await callsTo(ollama()).relay(asked(), body, options);
    expect(answer).toMatchObject({
      completion: { text: expect.stringContaining('tok'), toolCalls: [] },
      translatedBy: { id: SECOND },
    });
    const sent = { model: ANSWER, options: { num_predict: 7 } };
    expect(second.requests.at(-1)).toMatchObject({ path: '/api/chat', body: sent });

    const parts: ChatPart[] = [];
    for await (const read of callsTo(ollama()).relayStream(asked(), body, options)) {
      expect(read.bytes).toBeUndefined();
      parts.push(...read.parts);
    }
    expect(JSON.stringify(parts)).toContain('tok');
    expect(second.requests).toHaveLength(2);
  });

  it('passes over a fallback that cannot honour it', async () => {
    const refusing = optionsWith(() => {
      throw new InvalidInputError(msg`This model has no seed. Remove it.`);
    });
    await expect(callsTo(ollama()).relay(asked(), body, refusing)).rejects.toMatchObject({
      status: 503,
    });
    expect(second.requests).toEqual([]);
  });
});

it('an embedding goes to the same model elsewhere, and to no other', async () => {
  const adapter = new EmbeddingAdapterRegistry(http).get('custom_api');
  const embedding = (id: number, modelName: string, url: string): ResolvedEmbeddingModel => ({
    ...modelOf(modelName),
    ...{ id, category: 'vector', modelDimension: 8, adapter },
    connection: { address: `${url}/v1` },
  });
  const asked = { ...embedding(1, 'sim--failfirst-1', first.url), fallbackIds: [2, 3] };
  const fallbacks = [
    embedding(2, 'sim-other', second.url),
    embedding(3, 'sim--failfirst-1', `${second.url}/x`),
  ];
  const attempted: UsageEntry[] = [];
  const calls = unstoredCalls(undefined, [], { fallbacks, health, attempted });
  const options = { use: TRYING, limits: LIMITS, signal: new AbortController().signal };
  await calls.embed(asked, () => ({ inputs: ['a'] }), options).catch(() => undefined);
  expect(attempted.map((entry) => entry.model_id)).toEqual([1, 3]);
});
