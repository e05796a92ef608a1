import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { costOf, decimalOf, modelPrices, randomPrices } from '../../support/price-list.js';
import type { TestPrices, UsedParts } from '../../support/price-list.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { Session } from '../../support/session.js';

/** More are requested by hand: 100,000 take some minutes (docs/TESTING.md). */
const MANY = Number(process.env['PLINTH_BOOKS_CALLS'] ?? 400);
const AT_ONCE = 20;

const PROTOCOLS = ['messages', 'chat/completions', 'responses', 'embeddings'];
const CODES: Readonly<Record<string, string>> = {
  messages: 'custom_messages',
  responses: 'custom_responses',
};
const CATEGORIES: Readonly<Record<string, object>> = {
  embeddings: { category: 'vector', modelDimension: 2 },
};
const TEXT = 'Good day';
const NOTHING: UsedParts = {
  ...{ door: 'v1', service_tier: null, input_tokens: 0, output_tokens: 0, cached_tokens: 0 },
  ...{ cache_write_tokens: 0, cache_write_hour_tokens: 0, web_searches: 0, code_runs: 0 },
  ...{ audio_input_tokens: 0, audio_output_tokens: 0, images: 0, seconds: 0, characters: 0 },
};

const seeded = seededRandom(36);
const random = (below: number): number => Math.floor(seeded() * below);
const some = (below: number): number => (random(2) === 0 ? 0 : random(below));

/** A model service that bills each call by a price list and counts what it has billed. */
class BillingService {
  calls = 0;
  readonly sums: Record<string, number> = {};
  readonly billed = { USD: 0n, EUR: 0n };
  readonly lists = new Map<string, TestPrices>();
  private readonly server: Server = createServer((request, response) => {
    void this.answer(request, response);
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => void this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model = '', stream = false } = JSON.parse(await text(request)) as {
      model?: string;
      stream?: boolean;
    };
    const protocol = request.url?.replace('/v1/', '') ?? '';
    const used = usedBy(protocol);
    const prices = this.lists.get(model);
    if (!prices) throw new Error(`There is no price list of ${model}.`);
    this.calls += 1;
    this.billed[prices.currency] += costOf(used, prices);
    for (const [name, count] of Object.entries(used)) {
      if (typeof count === 'number') this.sums[name] = (this.sums[name] ?? 0) + count;
    }
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
    const body = bodyOf(protocol, used);
    response.end(stream ? eventsOf(body) : JSON.stringify(body));
  }
}

/** What a call of the protocol uses, of each kind that the protocol reports. */
function usedBy(protocol: string): UsedParts {
  if (protocol === 'embeddings') return { ...NOTHING, input_tokens: 1 + random(20_000) };
  const isMessages = protocol === 'messages';
  const isCompletion = protocol === 'chat/completions';
  const parts = {
    cached_tokens: some(20_000),
    cache_write_tokens: some(20_000),
    cache_write_hour_tokens: isMessages ? some(20_000) : 0,
    audio_input_tokens: isCompletion ? some(20_000) : 0,
  };
  const output = 1 + random(5_000);
  return {
    ...NOTHING,
    ...parts,
    input_tokens: Object.values(parts).reduce((sum, count) => sum + count, 1 + random(20_000)),
    output_tokens: output,
    audio_output_tokens: isCompletion ? some(output + 1) : 0,
    web_searches: isCompletion ? 0 : some(4),
    code_runs: protocol === 'responses' ? some(3) : 0,
    service_tier: ['priority', 'flex', 'standard'][random(3)] ?? null,
  };
}

/** The usage as the services publish it; src/provider/adapter/chat/vendors has the sources and dates. */
function bodyOf(protocol: string, used: UsedParts): Record<string, unknown> {
  const details = {
    cached_tokens: used.cached_tokens,
    cache_write_tokens: used.cache_write_tokens,
  };
  switch (protocol) {
    case 'embeddings':
      return {
        ...{
          object: 'list',
          model: 'm',
          data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
        },
        usage: { prompt_tokens: used.input_tokens, total_tokens: used.input_tokens },
      };
    case 'messages': {
      const { cache_write_tokens: short, cache_write_hour_tokens: hour } = used;
      return {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm' },
        ...{
          content: [{ type: 'text', text: 'Hi.' }],
          stop_reason: 'end_turn',
          stop_sequence: null,
        },
        usage: {
          input_tokens: used.input_tokens - used.cached_tokens - short - hour,
          cache_creation_input_tokens: short + hour,
          cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: hour },
          cache_read_input_tokens: used.cached_tokens,
          output_tokens: used.output_tokens,
          service_tier: used.service_tier,
          server_tool_use: { web_search_requests: used.web_searches },
        },
      };
    }
    case 'responses': {
      const item = (_: unknown, at: number): object => ({
        ...{ id: `ws_${at}`, type: 'web_search_call', status: 'completed' },
        action: { type: 'search', query: 'moon' },
      });
      const container = (_: unknown, at: number): object => ({
        ...{ id: `ci_${at}`, type: 'code_interpreter_call', status: 'completed' },
        ...{ container_id: `cntr_${at}`, code: '1', outputs: [] },
      });
      const content = [{ type: 'output_text', text: 'Hi.', annotations: [], logprobs: [] }];
      return {
        ...{ id: 'resp_1', object: 'response', created_at: 1_764_201_600, status: 'completed' },
        ...{ error: null, incomplete_details: null, model: 'm', service_tier: used.service_tier },
        output: [
          ...Array.from({ length: used.web_searches }, item),
          ...Array.from({ length: used.code_runs }, container),
          { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content },
        ],
        usage: {
          ...{ input_tokens: used.input_tokens, input_tokens_details: details },
          ...{ output_tokens: used.output_tokens, output_tokens_details: { reasoning_tokens: 0 } },
          total_tokens: used.input_tokens + used.output_tokens,
        },
      };
    }
    default:
      return {
        ...{ id: 'c1', object: 'chat.completion', created: 1_764_201_600, model: 'm' },
        service_tier: used.service_tier,
        choices: [
          { index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' },
        ],
        usage: {
          ...{ prompt_tokens: used.input_tokens, completion_tokens: used.output_tokens },
          total_tokens: used.input_tokens + used.output_tokens,
          prompt_tokens_details: { ...details, audio_tokens: used.audio_input_tokens },
          completion_tokens_details: { audio_tokens: used.audio_output_tokens },
        },
      };
  }
}

/** A stream of messages, whose breakdown of cache writes is in its start only. */
function eventsOf({ usage, content: _, ...message }: Record<string, unknown>): string {
  const { server_tool_use: tools, ...start } = usage as Record<string, unknown>;
  const { cache_creation: _breakdown, service_tier: _tier, ...end } = start;
  const events: readonly { readonly type: string; readonly [field: string]: unknown }[] = [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        usage: { ...start, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { ...end, server_tool_use: tools },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

const service = new BillingService();
let plinth: Plinth;
let admin: Session;

beforeAll(async () => {
  const apiHost = await service.listen();
  plinth = await Plinth.start({ CHAT_STREAMS_PER_USER: String(10 * AT_ONCE) });
  admin = await plinth.signIn();
  for (const code of ['custom_api', ...Object.values(CODES)]) await createProvider(admin, code);
  for (const [at, prices] of randomPrices(random).entries()) {
    for (const protocol of PROTOCOLS) {
      const modelName = nameOf(protocol, at);
      const providerCode = CODES[protocol] ?? 'custom_api';
      const fields = { ...CATEGORIES[protocol], ...modelPrices(prices), modelName, providerCode };
      await createModel(admin, { ...fields, apiHost, apiKey: 'key' });
      service.lists.set(modelName, prices);
    }
  }
});

afterAll(async () => {
  await plinth.stop();
  service.close();
});

function nameOf(protocol: string, at: number): string {
  return `billed-${protocol.replace('/', '-')}-${at}`;
}

async function call(at: number): Promise<void> {
  const protocol = PROTOCOLS[at % PROTOCOLS.length] ?? '';
  const messages = [{ role: 'user', content: TEXT }];
  const bodies: Readonly<Record<string, object>> = {
    messages: { messages, max_tokens: 50, stream: at % 2 === 0 },
    'chat/completions': { messages },
    responses: { input: TEXT, store: false },
    embeddings: { input: TEXT },
  };
  const model = nameOf(protocol, Math.floor(at / PROTOCOLS.length) % 8);
  const { status, text: answer } = await admin.raw('POST', `/v1/${protocol}`, {
    model,
    ...bodies[protocol],
  });
  if (status !== 200) throw new Error(`${protocol}: ${status} ${answer}`);
}

it(
  `${MANY} calls cost what the service has billed, of every kind that it reports`,
  async () => {
    const numbers = Array.from({ length: MANY }, (_, at) => at).values();
    const work = async (): Promise<void> => {
      for (const at of numbers) await call(at);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const ledger = plinth.app.get(UsageLedger, { strict: false });
    await ledger.settled();
    await ledger.flush();
    const { total } = done(await admin.get<{ total: object }>('/monitor/usage')).data;
    const { sums, billed, calls } = service;
    expect(calls).toBe(MANY);
    expect(total).toMatchObject({
      ...{ calls, failures: 0, aborts: 0, estimates: 0 },
      inputTokens: sums['input_tokens'],
      outputTokens: sums['output_tokens'],
      cachedTokens: sums['cached_tokens'],
      cacheWriteTokens: sums['cache_write_tokens'],
      cacheWriteHourTokens: sums['cache_write_hour_tokens'],
      audioInputTokens: sums['audio_input_tokens'],
      audioOutputTokens: sums['audio_output_tokens'],
      webSearches: sums['web_searches'],
      codeRuns: sums['code_runs'],
      costs: [
        { currency: 'USD', cost: decimalOf(billed.USD) },
        { currency: 'EUR', cost: decimalOf(billed.EUR) },
      ],
    });
  },
  60_000 + MANY * 100,
);
