import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import readXlsxFile from 'read-excel-file/node';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { acrossTenants, Database, inTenant } from '../../../src/platform/database/index.js';
import { LedgerRepository } from '../../../src/usage/ledger.repository.js';
import type { UsageEntry } from '../../../src/usage/usage.entry.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { UsageRetention } from '../../../src/usage/usage.retention.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { costOf, decimalOf, modelPrices, randomPrices } from '../../support/price-list.js';
import type { TestPrices } from '../../support/price-list.js';
import type { Session } from '../../support/session.js';
import { seededRandom } from '../../support/seeded-random.js';

interface Figures {
  readonly calls: number;
  readonly unpriced: number;
  readonly cost: string | null;
  readonly costs: readonly {
    readonly currency: string;
    readonly cost: string;
    readonly estimatedCost: string | null;
  }[];
  readonly serviceCost: string | null;
}

interface Version {
  readonly inputPrice: number | null;
  readonly contextTiers: readonly object[];
  readonly priceSource: string | null;
  readonly createTime: string;
}

/** Calls of the sums, and statements that they are written with. */
const MANY = 100_000;
const AT_ONCE = 500;

const VENDORS = new URL('../../../src/provider/adapter/chat/vendors/', import.meta.url);
const USER_CONTENT = [{ role: 'user', content: 'What is the moon?' }];

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let models = 0;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({ USAGE_DETAIL_DAYS: '10' });
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages', 'custom_responses']) {
    await createProvider(admin, code);
  }
});

beforeEach(async () => {
  simulator.reset();
  await flush();
  await query('DELETE FROM upstream_call');
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function flush(): Promise<void> {
  const ledger = plinth.app.get(UsageLedger, { strict: false });
  await ledger.settled();
  await ledger.flush();
}

function query<Result>(sql: string): Promise<Result[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query<Result>(sql));
}

type Protocol = 'messages' | 'chat/completions' | 'responses';
const CODES = {
  messages: 'custom_messages',
  'chat/completions': 'custom_api',
  responses: 'custom_responses',
} as const;

async function modelWith(prices: object, protocol: Protocol = 'messages') {
  models += 1;
  const modelName = `priced-${models}`;
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key', providerCode: CODES[protocol] };
  return { modelName, id: await createModel(admin, { ...service, modelName, ...prices }) };
}

async function ask(modelName: string, protocol: Protocol, stream = false): Promise<void> {
  const messages = protocol === 'responses' ? { input: 'Hi' } : { messages: USER_CONTENT };
  const limit = protocol === 'messages' ? { max_tokens: 50 } : {};
  const body = { model: modelName, ...messages, ...limit, ...(stream && { stream }) };
  const answer = await admin.raw('POST', `/v1/${protocol}`, body);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
}

async function usage(path = ''): Promise<{ total: Figures; rows: readonly Figures[] }> {
  await flush();
  return done(await admin.get<{ total: Figures; rows: Figures[] }>(`/monitor/usage${path}`)).data;
}

/** A section of a scenario of what a vendor sends. */
function sent(file: string, scenario: string, section: 'stream' | 'answer'): string {
  const text = readFileSync(new URL(file, VENDORS), 'utf8');
  const [, rest = ''] = text.split(`=== ${scenario}\n`);
  const [, body = ''] = (rest.split('\n=== ')[0] ?? '').split(`>>> ${section}\n`);
  return `${(body.split('\n>>> ')[0] ?? '').trimEnd()}\n\n`;
}

function answers(body: string, stream = false): void {
  const type = stream ? 'text/event-stream' : 'application/json';
  simulator.script({ body, headers: { 'content-type': type } });
}

function messageWith(usageOfAnswer: object): string {
  return JSON.stringify({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' },
    content: [{ type: 'text', text: 'A rock.' }],
    stop_reason: 'end_turn',
    usage: usageOfAnswer,
  });
}

describe('a relayed messages call with 1,000,000 tokens written for an hour at 3.00', () => {
  const written = {
    cache_creation_input_tokens: 1_000_000,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 1_000_000 },
    cache_read_input_tokens: 0,
  };

  it.each([
    ['1,000 tokens more', { input_tokens: 1_000, output_tokens: 0, ...written }],
    ['200 tokens written at 15.00', { input_tokens: 0, output_tokens: 200, ...written }],
  ])('costs 6.003 with %s, not 3.003', async (_, reported) => {
    const { modelName } = await modelWith({ inputPrice: 3, outputPrice: 15 });
    answers(messageWith(reported));
    await ask(modelName, 'messages');
    expect((await usage()).total).toMatchObject({ calls: 1, unpriced: 0, cost: '6.003' });
  });

  it('costs what its own price says, and as much where only the start of a stream has the breakdown', async () => {
    const prices = { inputPrice: 3, outputPrice: 15, webSearchPrice: 0.01 };
    const own = await modelWith({ ...prices, cacheWritePrice: 4, cacheWriteHourPrice: 5 });
    const usual = await modelWith(prices);
    const scenario = 'usage with the breakdown of cache writes at the start only';
    for (const { modelName } of [own, usual]) {
      answers(sent('anthropic.txt', scenario, 'stream'), true);
      await ask(modelName, 'messages', true);
      answers(sent('anthropic.txt', scenario, 'answer'));
      await ask(modelName, 'messages');
    }
    await flush();
    const rows = await query(
      `SELECT trim_scale(cost)::text AS cost, input_tokens AS input, cache_write_tokens AS short,
              cache_write_hour_tokens AS hour, web_searches AS searches, service_tier AS tier
         FROM upstream_call ORDER BY call_time, id`,
    );
    const counts = { input: 1_001_500, short: 500, hour: 1_000_000, searches: 2, tier: 'priority' };
    // 1,000 × 3 + 15 × 15 for a million, and two searches; then the writes.
    const others = 0.003225 + 0.02;
    const costs = [others + 0.002 + 5, others + 0.001875 + 6].map((cost) => cost.toFixed(6));
    expect(rows).toEqual(
      [costs[0], costs[0], costs[1], costs[1]].map((cost) => ({
        cost: Number(cost).toString(),
        ...counts,
      })),
    );
  });
});

/** What is called, what it answers, its prices, and what the row of the ledger has. */
const PRICED: readonly [
  about: string,
  protocol: Protocol,
  body: string,
  prices: object,
  row: { readonly cost: string; readonly [column: string]: string | number | null },
][] = [
  [
    'sound, cache writes and a tier of the service',
    'chat/completions',
    sent('openai.txt', 'usage with sound, cache writes and a tier', 'answer'),
    {
      ...{ inputPrice: 2, outputPrice: 8, cachedInputPrice: 0.5 },
      ...{ audioInputPrice: 40, audioOutputPrice: 80 },
      serviceTierFactors: [
        { tier: 'priority', factor: 2 },
        { tier: 'flex', factor: 0.5 },
      ],
    },
    // (406 × 2 + 1,000 × 0.5 + 400 × 2.5 + 200 × 40 + 250 × 8 + 50 × 80) × 2
    { cost: '0.032624', service_cost: null },
  ],
  [
    'tools of the service, and its own cost beside',
    'chat/completions',
    sent('xai.txt', 'usage with its cost and tools of the service', 'answer'),
    {
      inputPrice: 3,
      outputPrice: 15,
      cachedInputPrice: 0.75,
      webSearchPrice: 0.005,
      codeRunPrice: 0.006,
    },
    // 836 × 3 + 64 × 0.75 + 2 × 15; 3 searches and 4 runs
    { cost: '0.041586', service_cost: 0.0037756, service_currency: 'USD' },
  ],
  [
    'the cost of a gateway',
    'chat/completions',
    sent('openrouter.txt', 'usage with its cost, cache writes and searches', 'answer'),
    { inputPrice: 3, outputPrice: 15, webSearchPrice: 0 },
    // 100 × 3 + 800 × 3.75 + 2 × 15
    { cost: '0.00333', service_cost: 0.00014, service_currency: 'USD' },
  ],
  [
    'searches and containers of responses in a tier',
    'responses',
    sent('openai-responses.txt', 'usage with tools of the service and a tier', 'answer'),
    {
      ...{ inputPrice: 4, outputPrice: 20, cachedInputPrice: 0.4 },
      ...{ webSearchPrice: 0.01, codeRunPrice: 0.03 },
      serviceTierFactors: [{ tier: 'flex', factor: 0.5 }],
    },
    // (1,600 × 4 + 100 × 0.4 + 300 × 5 + 10 × 20) / 2; tools cost the same in each tier
    { cost: '0.04407', service_tier: 'flex' },
  ],
  [
    'an explicit cache',
    'chat/completions',
    sent('qwen.txt', 'usage with an explicit cache', 'answer'),
    { inputPrice: 1.2, outputPrice: 6 },
    // 971 × 1.2 + 2,048 × 1.5 + 104 × 6
    { cost: '0.0048612' },
  ],
  [
    'the least that a call costs',
    'messages',
    messageWith({ input_tokens: 10, output_tokens: 1 }),
    { inputPrice: 1, outputPrice: 1, minimumPrice: 0.002 },
    { cost: '0.002' },
  ],
  [
    'a long context, whose tier names not every price',
    'messages',
    messageWith({ input_tokens: 200_000, cache_read_input_tokens: 1, output_tokens: 100 }),
    {
      ...{ inputPrice: 3, outputPrice: 15, cachedInputPrice: 0.3 },
      contextTiers: [
        { above: 400_000, inputPrice: 9 },
        { above: 200_000, inputPrice: 6, outputPrice: 22.5 },
      ],
    },
    // 200,000 × 6 + 1 × 0.6 + 100 × 22.5
    { cost: '1.2022506' },
  ],
  [
    'a context at the threshold',
    'messages',
    messageWith({ input_tokens: 199_999, cache_read_input_tokens: 1, output_tokens: 100 }),
    {
      ...{ inputPrice: 3, outputPrice: 15, cachedInputPrice: 0.3 },
      contextTiers: [{ above: 200_000, inputPrice: 6, outputPrice: 22.5 }],
    },
    { cost: '0.6014973' },
  ],
];

describe('the prices of services', () => {
  it.each(PRICED)('are those of %s', async (_, protocol, body, prices, { cost, ...row }) => {
    const { modelName } = await modelWith(prices, protocol);
    answers(body);
    await ask(modelName, protocol);
    expect((await usage()).total).toMatchObject({ calls: 1, unpriced: 0, cost });
    const [stored] = await query('SELECT * FROM upstream_call');
    expect(stored).toMatchObject(row);
  });

  it('are refused where they make no sense', async () => {
    const refused = (prices: object) =>
      modelWith(prices).then(
        () => undefined,
        (error: unknown) => (error as Error).message,
      );
    expect(await refused({ currency: 'euro' })).toContain('three capital letters');
    const tier = { above: 10, inputPrice: 1 };
    expect(await refused({ contextTiers: [tier, tier] })).toContain('twice');
    expect(await refused({ contextTiers: [{ inputPrice: 1 }] })).toContain('above');
    expect(await refused({ serviceTierFactors: [{ tier: 'flex', factor: -1 }] })).toContain(
      'at least 0',
    );
    expect(await refused({ serviceTierFactors: 'flex' })).toContain('list');
  });

  it('have versions with dates and sources, which calls keep', async () => {
    const tiers = [{ above: 200_000, inputPrice: 6 }];
    const first = { inputPrice: 3, contextTiers: tiers, priceSource: 'https://example.com/prices' };
    const { id } = await modelWith(first);
    const change = (fields: object) => admin.put('/system/model', { id, ...fields }).then(done);
    await change({ contextTiers: tiers, remark: 'The prices are as before' });
    await change({ contextTiers: [], priceSource: '' });
    const { data } = done(await admin.get<Version[]>(`/system/model/${id}/prices`));
    expect(data).toMatchObject([
      { inputPrice: 3, contextTiers: [], priceSource: null },
      { inputPrice: 3, contextTiers: tiers, priceSource: first.priceSource },
    ]);
    expect(data[0]?.createTime).toMatch(/^\d{4}-\d\d-\d\d /);
    const shown = done(await admin.get<Version>(`/system/model/${id}`)).data;
    expect(shown).toMatchObject({ inputPrice: 3, contextTiers: [], priceSource: null });
  });
});

describe('sums', () => {
  const answer = messageWith({ input_tokens: 1_000, output_tokens: 100 });

  async function call(prices: object): Promise<void> {
    const { modelName } = await modelWith(prices);
    answers(answer);
    await ask(modelName, 'messages');
  }

  it('never add currencies, in reports, roll-ups and limits', async () => {
    const limit = { scope: 'tenant', measure: 'cost-month', cap: 1_000 };
    const { data: made } = done(await admin.post<{ id: number }>('/system/limit', limit));
    await call({ inputPrice: 1_000, outputPrice: 0, currency: 'USD' });
    await call({ inputPrice: 2_000, outputPrice: 0, currency: 'EUR' });
    await call({ inputPrice: 4_000, outputPrice: 0 });
    const costs = [
      { currency: 'USD', cost: '5', estimatedCost: null },
      { currency: 'EUR', cost: '2', estimatedCost: null },
    ];
    expect((await usage()).total).toMatchObject({ calls: 3, cost: '5', costs });
    const limitPath = `/system/limit/${made.id}`;
    const used = done(await admin.get<{ use: { used: number } }>(limitPath)).data.use.used;
    expect(used).toBe(5);
    // A counter that is lost is what the ledger says.
    await query('DELETE FROM usage_counter');
    expect(done(await admin.get<{ use: { used: number } }>(limitPath)).data.use.used).toBe(5);
    done(await admin.delete(limitPath));
    await query("UPDATE upstream_call SET call_time = call_time - interval '12 days'");
    await plinth.app.get(UsageRetention, { strict: false }).round();
    expect((await usage()).total).toMatchObject({ calls: 3, cost: '5', costs });
  });

  it('count what has no price, whole models and parts of calls', async () => {
    await call({});
    await call({ inputPrice: 3 });
    await call({ inputPrice: 3, outputPrice: 15 });
    const report = async (): Promise<unknown> => (await usage()).total;
    const expected = { calls: 3, unpriced: 2, cost: '0.0075' };
    expect(await report()).toMatchObject(expected);
    const { text } = await admin.raw('GET', '/monitor/usage/export');
    const [header = '', ...lines] = text.trim().split('\r\n');
    const at = header.split(',').indexOf('unpriced');
    expect(lines.map((line) => line.split(',')[at]).sort()).toEqual(['0', '1', '1']);
    await query("UPDATE upstream_call SET call_time = call_time - interval '12 days'");
    await plinth.app.get(UsageRetention, { strict: false }).round();
    expect(await report()).toMatchObject(expected);
  });

  it('of a month are charged back by key, as CSV and as a workbook without formulas', async () => {
    const name = '=HYPERLINK("http://x")';
    const key = await makeKey(admin, { name, permissions: ['chat:chat:use'] });
    const { modelName } = await modelWith({ inputPrice: 3, outputPrice: 15 });
    const body = { model: modelName, max_tokens: 50, messages: USER_CONTENT };
    answers(answer);
    await withKey(admin, key).raw('POST', '/v1/messages', body);
    await call({ inputPrice: 6, outputPrice: 0, currency: 'EUR' });
    await call({});
    await flush();
    const month = new Date().toISOString().slice(0, 7);
    const path = `/monitor/usage/charges?groupBy=key&month=${month}`;
    const csv = await admin.raw('GET', path);
    expect(csv.headers['content-disposition']).toContain(`charges-${month}-key.csv`);
    const lines = csv.text.replace('\uFEFF', '').trim().split('\r\n');
    expect(lines.map((line) => line.split(',').slice(0, -15).join(','))).toEqual([
      'line,key,name,currency,cost,estimatedCost,calls,unpriced',
      `charge,${key.id},"'=HYPERLINK(""http://x"")",USD,0.0045,,1,0`,
      'charge,,,EUR,0.006,,1,0',
      'charge,,,USD,,,1,1',
      'sum,,,USD,0.0045,,2,1',
      'sum,,,EUR,0.006,,1,0',
    ]);
    const xlsx = await fetch(`${plinth.url}${path}&format=xlsx`, { headers: admin.headers });
    const bytes = Buffer.from(await xlsx.arrayBuffer());
    const [sheet] = await readXlsxFile(bytes);
    const rows = sheet?.data ?? [];
    expect(rows.map((cells) => cells.slice(0, 5))).toEqual([
      ['Line', 'Id', 'Name', 'Currency', 'Cost'],
      ['Charge', String(key.id), name, 'USD', 0.0045],
      ['Charge', null, null, 'EUR', 0.006],
      ['Charge', null, null, 'USD', null],
      ['Sum', null, null, 'USD', 0.0045],
      ['Sum', null, null, 'EUR', 0.006],
      [expect.stringContaining('without a price'), null, null, null, null],
    ]);
    expect(await admin.get('/monitor/usage/charges?month=2026-13')).toMatchObject({ code: 400 });
    expect(await admin.get('/monitor/usage/charges?groupBy=day')).toMatchObject({ code: 400 });
  });
});

/** The price list of a model among the many calls. */
interface PricedModel extends TestPrices {
  readonly id: number;
  readonly version: number;
}

/** A generator of pseudo-random whole numbers below a bound, the same in each run. */
function seeded(seed: number): (below: number) => number {
  const random = seededRandom(seed);
  return (below) => Math.floor(random() * below);
}

describe(`the sums of ${MANY} calls with all kinds of prices`, () => {
  /** Models with all prices, with few, in tiers, in another currency, and one without any. */
  async function priceLists(random: (below: number) => number): Promise<PricedModel[]> {
    const lists: PricedModel[] = [];
    for (const prices of randomPrices(random)) {
      const { id } = await modelWith(modelPrices(prices));
      const [row] = await query<{ version: number }>(
        `SELECT price_version AS version FROM model WHERE id = ${id}`,
      );
      lists.push({ ...prices, id, version: row?.version ?? 0 });
    }
    return lists;
  }

  function entryOf(
    random: (below: number) => number,
    at: number,
    list: PricedModel | undefined,
  ): UsageEntry {
    const parts = Array.from({ length: 5 }, () => (random(2) === 0 ? 0 : random(20_000)));
    const [plain = 0, cached = 0, short = 0, hour = 0, audio = 0] = parts;
    const output = random(5_000);
    const isMedium = random(10) === 0;
    return {
      ...{ id: randomUUID(), tenant_id: '000000', user_id: 1 + random(5), api_key_id: null },
      call_time: new Date(Date.now() - random(20 * 86_400_000)).toISOString(),
      ...{ door: random(4) === 0 ? 'batch' : 'v1', feature: 'chat', agent_id: null },
      ...{
        asked_model: 'many',
        model_id: list?.id ?? 1,
        model_name: 'many',
        provider_code: 'custom_messages',
      },
      ...{
        kind: isMedium ? 'media' : 'chat',
        attempt: 1,
        outcome: random(50) === 0 ? 'aborted' : 'ok',
      },
      estimated: random(20) === 0,
      input_tokens: isMedium ? 0 : plain + cached + short + hour + audio,
      output_tokens: isMedium ? 0 : output,
      cached_tokens: isMedium ? 0 : cached,
      reasoning_tokens: 0,
      cache_write_tokens: isMedium ? 0 : short,
      cache_write_hour_tokens: isMedium ? 0 : hour,
      audio_input_tokens: isMedium ? 0 : audio,
      audio_output_tokens: isMedium ? 0 : random(output + 1),
      web_searches: random(8) === 0 ? random(4) : 0,
      code_runs: random(8) === 0 ? random(3) : 0,
      service_tier: [null, 'priority', 'flex', 'standard'][random(4)] ?? null,
      ...{ service_cost: random(3) === 0 ? random(1_000) / 1_000 : null, service_currency: null },
      images: isMedium ? random(4) : 0,
      seconds: isMedium ? random(60_000) / 1_000 : 0,
      characters: isMedium ? random(5_000) : 0,
      ...{ price_version: list?.version ?? null, first_token_ms: null, duration_ms: at % 1_000 },
    };
  }

  it('are those of the price lists to the last digit, before and after the roll-up', async () => {
    const random = seeded(36);
    const lists = await priceLists(random);
    const repository = plinth.app.get(LedgerRepository, { strict: false });
    const expected = { USD: 0n, EUR: 0n, estimatedUSD: 0n, unpriced: 0 };
    for (let at = 0; at < MANY; at += AT_ONCE) {
      const entries = Array.from({ length: AT_ONCE }, (_, place) => {
        // The last of ten has no price.
        const list = lists[random(10)];
        const entry = entryOf(random, at + place, list);
        if (list === undefined) expected.unpriced += 1;
        else {
          const cost = costOf(entry, list);
          expected[list.currency] += cost;
          if (entry.estimated && list.currency === 'USD') expected.estimatedUSD += cost;
        }
        return entry;
      });
      await repository.add(entries);
    }
    const check = async (): Promise<void> => {
      const { total } = await usage();
      const [dollars, euros] = total.costs;
      expect(total).toMatchObject({ calls: MANY, cost: decimalOf(expected.USD) });
      expect([dollars?.cost, dollars?.estimatedCost]).toEqual([
        decimalOf(expected.USD),
        decimalOf(expected.estimatedUSD),
      ]);
      expect(euros).toMatchObject({ currency: 'EUR', cost: decimalOf(expected.EUR) });
      expect(total.unpriced).toBeGreaterThanOrEqual(expected.unpriced);
    };
    await check();
    // No call costs more than is reserved for it, its tools left out.
    const [beyond] = await query<{ calls: number }>(
      `SELECT count(*)::int AS calls FROM (SELECT * FROM upstream_call LIMIT 5000) c JOIN model_price p ON p.id = c.price_version
        WHERE c.cost - c.web_searches * coalesce(p.web_search_price, 0) - c.code_runs * coalesce(p.code_run_price, 0)
              > round(worst_cost(p, c.input_tokens, c.output_tokens, c.images, c.seconds, c.characters, 'hour', c.door = 'batch'), 12)`,
    );
    expect(beyond).toEqual({ calls: 0 });
    const before = await usage('?groupBy=model,user');
    for (const day of await repository.rollable(100)) {
      await inTenant(day.tenantId, () => repository.rollUp(day));
    }
    const [rows] = await query<{ count: number }>(
      'SELECT count(*)::int AS count FROM upstream_call',
    );
    expect(rows?.count).toBeLessThan(MANY * 0.9);
    await check();
    expect(await usage('?groupBy=model,user')).toEqual(before);
  }, 600_000);
});
