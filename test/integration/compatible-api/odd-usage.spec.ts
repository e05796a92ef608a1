import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  closeCompatibleApi,
  openCompatibleApi,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createModel } from '../../support/models.js';

const TENANT = '000000';
const MESSAGES = [{ role: 'user', content: 'What is new?' }];
let world: CompatibleApi;

beforeAll(async () => {
  world = await openCompatibleApi();
  const service = { apiHost: `${world.simulator.url}/v1`, apiKey: SERVICE_KEY };
  await createModel(world.admin, { ...service, category: 'rerank', modelName: 'sim-rerank' });
});
beforeEach(async () => {
  await world.plinth.app.get(UsageLedger).flush();
  await database().query('DELETE FROM upstream_call WHERE tenant_id = $1', [TENANT]);
});
afterEach(() => world.simulator.reset());
afterAll(() => closeCompatibleApi(world));

const database = (): Database => world.plinth.app.get(Database);

interface RecordedCall {
  readonly outcome: string;
  readonly estimates: number;
  readonly input: number;
  readonly output: number;
}

async function recorded(): Promise<readonly RecordedCall[]> {
  await world.plinth.app.get(UsageLedger).flush();
  return database().query<RecordedCall>(
    `SELECT outcome, estimates, input_tokens::int AS input, output_tokens::int AS output
       FROM upstream_call WHERE tenant_id = $1`,
    [TENANT],
  );
}

/** The counts by the names of all protocols, as JSON. */
function counts(input: string, output: string): string {
  const read = ['prompt_tokens', 'input_tokens', 'total_tokens'];
  const written = ['completion_tokens', 'output_tokens'];
  const fields = [...read.map((name) => [name, input]), ...written.map((name) => [name, output])];
  return `{${fields.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
}

/** Usage as JSON that counts nothing, or not all. */
const ODD = [
  ...['null', '"12"', '12', 'true', '[]', '[{"prompt_tokens":12}]', '{}'],
  ...[counts('"many"', '"few"'), counts('-12', '-3'), counts('1.5', '0.5'), counts('1e15', '1e15')],
  ...[counts('null', 'null'), counts('{}', '[]')],
];
/** That counts what was read, or what was written, alone. */
const HALF = [
  '{"prompt_tokens":12,"input_tokens":12}',
  '{"completion_tokens":3,"output_tokens":3}',
];

const COMPLETION =
  '{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Nothing is new."},"finish_reason":"stop"}]';
const MESSAGE =
  '{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Nothing is new."}],"stop_reason":"end_turn"';
const VECTORS = '{"object":"list","data":[{"index":0,"embedding":[1,0.5]}],"model":"m"';
const RANKED = '{"results":[{"index":0,"relevance_score":0.5}]';

/** The service answers this JSON object with that usage. */
function answerWith(beginning: string, usage: string): string {
  const body = `${beginning}, "usage": ${usage}}`;
  world.simulator.script({ headers: { 'content-type': 'application/json' }, body });
  return body;
}

function expectEstimates(rows: readonly RecordedCall[], isChat: boolean): void {
  expect(rows).toMatchObject([{ outcome: 'ok', estimates: 1 }]);
  const [{ input, output } = { input: 0, output: 0 }] = rows;
  for (const tokens of isChat ? [input, output] : [input]) {
    expect(tokens).toBeGreaterThan(0);
    expect(tokens).toBeLessThan(200);
  }
}

describe.each([
  ['/v1/chat/completions', COMPLETION, { model: 'sim-chat', messages: MESSAGES }],
  ['/v1/messages', MESSAGE, { model: 'sim-messages', messages: MESSAGES, max_tokens: 50 }],
])('an answer that is relayed by %s', (path, beginning, asked) => {
  it.each([...ODD, ...HALF])('is passed on as it is with the usage %s', async (usage) => {
    const body = answerWith(beginning, usage);
    const { status, text } = await world.admin.raw('POST', path, asked);
    expect([status, text]).toEqual([200, body]);
    expectEstimates(await recorded(), true);
  });

  it.each([...ODD, ...HALF])(
    'is streamed with the usage %s where it was no stream',
    async (usage) => {
      answerWith(beginning, usage);
      const { status, text } = await world.admin.raw('POST', path, { ...asked, stream: true });
      expect([status, text]).toEqual([200, expect.stringContaining('Nothing is new.')]);
      expect(text).not.toContain('"error"');
      expectEstimates(await recorded(), true);
    },
  );
});

it.each([
  ['/v1/chat/completions', COMPLETION, { model: 'sim-chat', messages: MESSAGES }],
  ['/v1/messages', MESSAGE, { model: 'sim-messages', messages: MESSAGES, max_tokens: 50 }],
  ['/v1/responses', COMPLETION, { model: 'sim-chat', input: 'What is new?', store: false }],
])('counts that are texts count in an answer of %s', async (path, beginning, asked) => {
  answerWith(beginning, counts('"12"', '"3"'));
  expect((await world.admin.raw('POST', path, asked)).status).toBe(200);
  expect(await recorded()).toEqual([{ outcome: 'ok', estimates: 0, input: 12, output: 3 }]);
});

it.each(ODD)('an event with the usage %s is passed on in a stream', async (usage) => {
  const begun =
    '{"choices":[{"index":0,"delta":{"content":"Nothing is new."},"finish_reason":"stop"}]}';
  const events = [begun, `{"choices":[],"usage":${usage}}`, '[DONE]'];
  const body = events.map((data) => `data: ${data}\n\n`).join('');
  world.simulator.script({ headers: { 'content-type': 'text/event-stream' }, body });
  const asked = { model: 'sim-chat', messages: MESSAGES, stream: true };
  const { status, text } = await world.admin.raw('POST', '/v1/chat/completions', {
    ...asked,
    stream_options: { include_usage: true },
  });
  expect([status, text]).toEqual([200, body]);
  expectEstimates(await recorded(), true);
});

const CUT = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":' } };
const CUSTOM = { index: 0, id: 'c1', type: 'custom', custom: { name: 'f', input: 'a' } };
const COUNTED = JSON.parse(counts('12', '32000')) as object;

function completionOf(call: object, finish_reason: string): object {
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const answer = { id: '1', object: 'chat.completion', created: 1, model: 'm' };
  return { ...answer, choices: [{ index: 0, message, finish_reason }], usage: COUNTED };
}

function chunksOf(call: object, finish_reason: string): object[] {
  return [
    { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage: COUNTED },
  ];
}

const USE = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const MESSAGE_WITH_CALL = {
  ...{ id: '1', type: 'message', role: 'assistant', model: 'm' },
  content: [USE],
  stop_reason: 'max_tokens',
  usage: COUNTED,
};
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: USE },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"a":' },
  },
  { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 32_000 } },
  { type: 'message_stop' },
];

describe.each([
  ['is cut', 'sim-chat', completionOf(CUT, 'length'), chunksOf(CUT, 'length')],
  [
    'has arguments that are not JSON',
    'sim-chat',
    completionOf(CUT, 'tool_calls'),
    chunksOf(CUT, 'tool_calls'),
  ],
  [
    'is of no function',
    'sim-chat',
    completionOf(CUSTOM, 'tool_calls'),
    chunksOf(CUSTOM, 'tool_calls'),
  ],
  ['is cut', 'sim-messages', MESSAGE_WITH_CALL, MESSAGE_EVENTS],
])('a relayed tool call that %s, of %s', (_, model, whole, events) => {
  const path = model === 'sim-chat' ? '/v1/chat/completions' : '/v1/messages';
  const asked = { model, messages: MESSAGES, max_tokens: 32_000 };
  const expected = [{ outcome: 'ok', estimates: 0, input: 12, output: 32_000 }];

  it('is passed on, and its answer counts as the service says', async () => {
    const body = JSON.stringify(whole);
    world.simulator.script({ headers: { 'content-type': 'application/json' }, body });
    const { status, text } = await world.admin.raw('POST', path, asked);
    expect([status, text]).toEqual([200, body]);
    expect(await recorded()).toEqual(expected);
  });

  it('is streamed, and its answer counts as the service says', async () => {
    const data = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const body = model === 'sim-chat' ? `${data}data: [DONE]\n\n` : data;
    world.simulator.script({ headers: { 'content-type': 'text/event-stream' }, body });
    const options = model === 'sim-chat' ? { stream_options: { include_usage: true } } : {};
    const { status, text } = await world.admin.raw('POST', path, {
      ...asked,
      ...options,
      stream: true,
    });
    expect([status, text]).toEqual([200, body]);
    expect(await recorded()).toEqual(expected);
  });
});

describe.each([
  ['/v1/responses', COMPLETION, 'sim-chat', { input: 'What is new?', store: false }],
  ['/v1/responses', MESSAGE, 'sim-messages', { input: 'What is new?', store: false }],
  ['/v1/embeddings', VECTORS, 'sim-embed-64', { input: 'What is new?' }],
  ['/v1/rerank', RANKED, 'sim-rerank', { query: 'What is new?', documents: ['Nothing.'] }],
])('an answer of %s', (path, beginning, model, asked) => {
  const isChat = path === '/v1/responses';

  it.each([...ODD, ...(isChat ? HALF : [])])(
    'has estimates in place of the usage %s',
    async (usage) => {
      answerWith(beginning, usage);
      const { status, text } = await world.admin.raw('POST', path, { model, ...asked });
      expect([status, text]).toEqual([200, expect.not.stringContaining('"error":{')]);
      const answer = JSON.parse(text) as { usage?: Record<string, unknown> };
      for (const count of Object.values(answer.usage ?? {})) {
        if (typeof count !== 'number') continue;
        expect(Number.isInteger(count)).toBe(true);
        expect(count).toBeGreaterThan(0);
        expect(count).toBeLessThan(300);
      }
      expectEstimates(await recorded(), isChat);
    },
  );
});
