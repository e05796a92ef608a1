import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../../simulator/index.js';
import type { Simulator } from '../../../../simulator/index.js';
import { eventually } from '../../../../test/support/wait.js';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelConnection } from '../model-call.js';
import { UpstreamError } from '../upstream.error.js';
import type { RankedDocument, RerankAnswer, RerankCall } from './rerank.adapter.js';
import { rerankAdapters } from '../../adapter.registries.js';

const CREDENTIAL = 'canary-key-1f9a7c.canary-part-82d';
const DOCUMENTS = [
  'Parking is free.',
  'Employees get 25 days of annual leave.',
  'Leave the office.',
  'Cats sleep a lot.',
];
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

describe.each(rerankAdapters(http).map((adapter) => [adapter.code, adapter] as const))(
  'the adapter %s',
  (_code, adapter) => {
    const connection = (credential?: string): ModelConnection => ({
      address: simulator.url,
      ...(credential !== undefined && { credential }),
    });
    const answerOf = (
      model: string,
      extra: Partial<RerankCall> = {},
      signal = new AbortController().signal,
    ): Promise<RerankAnswer> =>
      adapter.rerank(
        { model, query: 'annual leave days', documents: DOCUMENTS, topN: 4, ...extra },
        connection(CREDENTIAL),
        { limits, signal },
      );
    const rerank = async (
      ...asked: Parameters<typeof answerOf>
    ): Promise<readonly RankedDocument[]> => (await answerOf(...asked)).ranked;

    it('answers the tokens that the service reports', async () => {
      const { usage } = await answerOf('sim');
      if (adapter.code === 'tei') expect(usage).toBeUndefined();
      else expect(usage?.inputTokens).toBeGreaterThan(0);
      expect((await answerOf('sim--nousage')).usage).toBeUndefined();
    });

    it('answers the documents by relevance, best first', async () => {
      const ranked = await rerank('sim');
      expect(ranked.map(({ index }) => index)).toEqual([1, 2, 0, 3]);
      const scores = ranked.map(({ score }) => score);
      expect(scores).toEqual([...scores].sort((one, other) => other - one));
      expect(scores[0]).toBeGreaterThan(0);
      expect((await rerank('sim', { topN: 2 })).map(({ index }) => index)).toEqual([1, 2]);
    });

    it('takes as many documents at once as it says', async () => {
      const documents = Array.from({ length: adapter.maxDocuments }, (_, at) => `leave ${at}`);
      const ranked = await rerank('sim', { documents, topN: documents.length });
      expect(ranked).toHaveLength(adapter.maxDocuments);
    });

    it('sends a bearer token, and no header for a blank or absent key', async () => {
      await rerank('sim');
      const call = { model: 'sim', query: 'q', documents: ['a'], topN: 1 };
      const options = { limits, signal: new AbortController().signal };
      for (const credential of [undefined, ' ']) {
        await adapter.rerank(call, connection(credential), options).catch(() => undefined);
      }
      const [withKey, ...withoutKey] = simulator.requests.map(({ headers }) => headers);
      expect(withKey?.authorization).toMatch(/^Bearer \S+$/);
      expect(withoutKey).toHaveLength(2);
      for (const headers of withoutKey) expect(headers).not.toHaveProperty('authorization');
    });

    it('may be left documents out', async () => {
      expect(await rerank('sim--toofew')).toHaveLength(3);
    });

    it.each([
      ['toomany', 'was not given'],
      ['sameindex', 'same document twice'],
      ['notfinite', 'without a score'],
    ])('refuses an answer with the fault %s', async (fault, message) => {
      await expect(rerank(`sim--${fault}`)).rejects.toMatchObject({
        kind: 'protocol',
        retryable: false,
        message: expect.stringContaining(message),
      });
    });

    it.each([
      ['{"results":[{"index":0,"relevance_score":NaN}]}', 'not JSON'],
      ['<html>Welcome</html>', 'not JSON'],
      ['{"results":[]}', 'no document'],
      ['{}', 'without a score'],
    ])('refuses the body %s', async (body, message) => {
      simulator.script({ body });
      await expect(rerank('sim')).rejects.toMatchObject({
        kind: 'protocol',
        message: expect.stringContaining(message),
      });
    });

    it.each([
      ['cut-1', 'cut', true],
      ['reset-1', 'connection', true],
      ['reset-0', 'connection', true],
    ])('tells that an answer broke off (%s)', async (fault, kind, retryable) => {
      await expect(rerank(`sim--${fault}`)).rejects.toMatchObject({ kind, retryable });
    });

    it.each([
      [400, 'invalid-request', false],
      [401, 'authentication', false],
      [404, 'not-found', false],
      [429, 'rate-limit', true],
      [500, 'overloaded', true],
    ])('status %d is %s', async (status, kind, retryable) => {
      await expect(rerank(`sim--status-${status}`)).rejects.toMatchObject({
        status,
        kind,
        retryable,
        code: 500,
      });
    });

    it('reads Retry-After', async () => {
      await expect(rerank('sim--status-429--retryafter-7')).rejects.toMatchObject({
        retryAfterMs: 7_000,
      });
    });

    it('names a wrong key and an unknown model', async () => {
      const call = { model: 'sim', query: 'q', documents: ['a'], topN: 1 };
      const options = { limits, signal: new AbortController().signal };
      await expect(adapter.rerank(call, connection('wrong-key'), options)).rejects.toMatchObject({
        kind: 'authentication',
        status: 401,
      });
      await expect(rerank('no-such-model')).rejects.toMatchObject({ kind: 'not-found' });
    });

    it('passes on neither key, token nor address from an error', async () => {
      const failure: unknown = await rerank('sim--leak').catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UpstreamError);
      const text = JSON.stringify([String(failure), failure]);
      expect(text).not.toMatch(/canary|127\.0\.0\.1|http:/);
      const token = String(simulator.requests[0]?.headers.authorization).replace('Bearer ', '');
      for (const part of token.split('.')) expect(text).not.toContain(part);
    });

    it('ends a silent call', async () => {
      const impatient = {
        limits: { ...limits, idleMs: 300 },
        signal: new AbortController().signal,
      };
      const call = { model: 'sim--stall-0', query: 'q', documents: ['a'], topN: 1 };
      await expect(adapter.rerank(call, connection(CREDENTIAL), impatient)).rejects.toMatchObject({
        kind: 'timeout',
        retryable: false,
      });
    });

    it('leaves upstream at once when aborted', async () => {
      const controller = new AbortController();
      const call = rerank('sim--stall-0', {}, controller.signal);
      await eventually(
        () => simulator.requests.length,
        (asked) => asked === 1,
      );
      controller.abort();
      await expect(call).rejects.toMatchObject({ kind: 'aborted', retryable: false });
      await eventually(
        () => simulator.openConnections(),
        (open) => open === 0,
      );
      expect(simulator.requests.map(({ ended }) => ended)).toEqual(['client-closed']);
    });
  },
);

describe('a service of unknown dialect', () => {
  const custom = rerankAdapters(http).find(({ code }) => code === 'custom_api');
  const call = { model: 'sim', query: 'annual leave days', documents: DOCUMENTS, topN: 2 };
  const options = { limits, signal: new AbortController().signal };

  it.each([
    // Text Embeddings Inference, 2026-11
    ['texts', 422, 'Failed to deserialize the JSON body: missing field `texts` at line 1'],
    ['input', 400, 'Field required: input'],
  ])('is asked again in the one whose field %s it misses', async (field, status, body) => {
    simulator.script({ status, body });
    const connection = { address: simulator.url, credential: CREDENTIAL };
    const answer = await custom?.rerank(call, connection, options);
    expect(answer?.ranked.map(({ index }) => index)).toEqual([1, 2]);
    expect(simulator.requests.map((request) => Object.keys(request.body as object))).toEqual([
      expect.arrayContaining(['documents', 'top_n']),
      expect.arrayContaining([field]),
    ]);
  });
});
