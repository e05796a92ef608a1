import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { RetentionSweep } from '../../../src/platform/retention/index.js';
import { UsageRetention } from '../../../src/usage/usage.retention.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createMediaModels } from '../../support/media/media-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeTenant, makeUser, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { calling } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

interface Figures {
  readonly calls: number;
  readonly failures: number;
  readonly aborts: number;
  readonly estimates: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  readonly characters: number;
  readonly cost: string | null;
}

interface Report {
  readonly total: Figures;
  readonly rows: readonly (Figures & {
    readonly groups: readonly { readonly key: string | null; readonly name: string | null }[];
  })[];
  readonly more: boolean;
}

interface Row {
  readonly outcome: string;
  readonly attempt: number;
  readonly estimates: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly feature: string;
  readonly kind: string;
}

const KEY = 'key-of-the-service-12345';
/** Rounds of the mixed run, and how many calls follow that are made at the same time: more are asked for by hand. */
const ROUNDS = 3;
const MANY = Number(process.env['PLINTH_BOOKS_CALLS'] ?? 300);
const AT_ONCE = 20;

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let modelId: number;
let agentId: number;
let toolAgentId: number;
let knowledgeId: number;

overrideConstants(CHAT_LIMITS, { attempts: 2 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({
    // The place of a client that has left is free when the service notices it.
    CHAT_STREAMS_PER_USER: String(10 * AT_ONCE),
    USAGE_DETAIL_DAYS: '10',
  });
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator, KEY);
  for (const code of ['custom_api', 'custom_messages', 'ollama']) {
    await createProvider(admin, code);
  }
  const service = { apiHost: `${simulator.url}/v1`, apiKey: KEY };
  modelId = await createModel(admin, { ...service, modelName: 'sim-chat' });
  await createModel(admin, { ...service, modelName: 'sim-slow--delay-30' });
  for (const modelName of [
    'sim-broken--status-503',
    'sim-refused--status-401',
    'sim-silent--nousage',
  ])
    await createModel(admin, { ...service, modelName });
  await createModel(admin, { ...service, modelName: 'sim-gone', apiHost: 'http://127.0.0.1:9/v1' });
  await createModel(admin, {
    ...service,
    modelName: 'sim-messages',
    providerCode: 'custom_messages',
  });
  await createModel(admin, {
    apiHost: simulator.url,
    modelName: 'sim-ollama',
    providerCode: 'ollama',
  });
  const embed = { ...service, category: 'vector', modelDimension: 64 };
  await createModel(admin, { ...embed, modelName: 'sim-embed-64' });
  await createModel(admin, { ...service, category: 'rerank', modelName: 'sim-rerank' });
  knowledgeId = await createKnowledge(admin, {
    name: 'Shop',
    embeddingModel: 'sim-embed-64',
    rerankModel: 'sim-rerank',
    enableRerank: 1,
  });
  const known = { knowledgeIds: [knowledgeId], systemPrompt: 'You are the shop.' };
  agentId = (await createAgent(admin, modelId, known)).id;
  const tools = { runtime: 'tools', tools: ['search_knowledge'] };
  toolAgentId = (await createAgent(admin, modelId, { ...known, ...tools })).id;
});

beforeEach(async () => {
  simulator.reset();
  await flushLedger();
  await query('DELETE FROM upstream_call');
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

function flushLedger(): Promise<void> {
  return plinth.app.get(UsageLedger, { strict: false }).flush();
}

function query<Result>(sql: string): Promise<Result[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query<Result>(sql));
}

async function usage(path = '', by = admin): Promise<Report> {
  await flushLedger();
  return done(await by.get<Report>(`/monitor/usage${path}`)).data;
}

async function rows(): Promise<Row[]> {
  await flushLedger();
  return query<Row>(
    `SELECT outcome, attempt, estimates, input_tokens AS "inputTokens", output_tokens AS "outputTokens", feature, kind
       FROM upstream_call ORDER BY call_time, id`,
  );
}

const by = (report: Report): Record<string, number> =>
  Object.fromEntries(report.rows.map(({ groups, calls }) => [groups[0]?.key ?? '', calls]));

function v1(session: Session): OpenAI {
  return new OpenAI({
    baseURL: `${plinth.url}/v1`,
    apiKey: (session.headers['authorization'] ?? '').replace('Bearer ', ''),
    defaultHeaders: { clientid: session.headers['clientid'] ?? '' },
    maxRetries: 0,
  });
}

const ended = (): Promise<unknown> =>
  eventually(
    () => simulator.openConnections(),
    (open) => open === 0,
  );

/** Calls of every interface and feature, with faults and aborts. */
async function everything(client: OpenAI, round: number): Promise<void> {
  const content = `What is new in ${round}?`;
  const messages = [{ role: 'user' as const, content }];
  await sendChat(admin, { model: 'sim-chat', content });
  await sendChat(admin, { model: 'sim-messages', content });
  await sendChat(admin, { model: 'sim-broken--status-503', content });
  await sendChat(admin, { model: 'sim-refused--status-401', content });
  await sendChat(admin, { model: 'sim-silent--nousage', content });
  await sendChat(admin, { agentId, content });
  await sendChat(admin, { agentId: toolAgentId, content });
  simulator.script({ match: { model: 'sim-chat', path: '/chat/completions' }, delayMs: 50 });
  const left = await OpenChat.send(admin, { model: 'sim-chat', content });
  await left.until('event: content');
  left.leave();
  await ended();
  for (const model of ['sim-chat', 'sim-messages', 'sim-ollama', `agent-${agentId}`]) {
    await client.chat.completions.create({ model, messages });
    for await (const _ of await client.chat.completions.create({ model, messages, stream: true }));
  }
  const broken = client.chat.completions.create({ model: 'sim-broken--status-503', messages });
  await expect(broken).rejects.toThrow();
  await client.embeddings.create({ model: 'sim-embed-64', input: ['one', 'two'] });
  const ranking = { model: 'sim-rerank', query: 'laptop', documents: ['a laptop', 'a shoe'] };
  await client.post('/rerank', { body: ranking });
  await upload(admin, knowledgeId, [[`note-${round}.txt`, `The warranty of ${round} lasts long.`]]);
  await settled(admin, knowledgeId);
  // Given up once enough of the answer is there.
  simulator.script({ match: { model: 'sim-chat', path: '/chat/completions' }, delayMs: 20 });
  done(await admin.post(`/system/model/${modelId}/test`, {}));
  await ended();
}

describe('the usage ledger', () => {
  it(
    'add up to what the service has counted, over every interface, with aborts and faults',
    async () => {
      const client = v1(withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] })));
      for (let round = 0; round < ROUNDS; round += 1) await everything(client, round);
      await ended();
      const report = await usage('?groupBy=feature');
      expect(report.total.calls).toBe(simulator.total);
      const recorded = await query<{ calls: number; input: number; output: number }>(
        `SELECT count(*)::int AS calls, sum(input_tokens)::int AS input, sum(output_tokens)::int AS output
           FROM upstream_call WHERE estimates = 0 AND outcome = 'ok'`,
      );
      const { calls, inputTokens, outputTokens } = simulator.answered;
      // What is estimated is what the service did not report, or did not send to the end.
      expect(recorded).toEqual([{ calls, input: inputTokens, output: outputTokens }]);
      const estimated = (await rows()).filter(({ estimates }) => estimates === 1);
      expect(new Set(estimated.map(({ outcome }) => outcome))).toEqual(new Set(['ok', 'aborted']));
      expect(estimated).toHaveLength(3 * ROUNDS);
      expect(report.total).toMatchObject({ aborts: 2 * ROUNDS, estimates: 3 * ROUNDS });
      // Two attempts each of chat and /v1, and one that was refused.
      expect(report.total.failures).toBe(5 * ROUNDS);
      expect(Object.keys(by(report)).sort()).toEqual(
        ['agent', 'chat', 'embedding', 'ingestion', 'rerank', 'retrieval', 'test'].sort(),
      );
      const interfaces = by(await usage('?groupBy=door'));
      expect(Object.keys(interfaces).sort()).toEqual(['job', 'rest', 'v1']);
      const agents = by(await usage('?groupBy=agent'));
      expect(agents[String(agentId)]).toBeGreaterThan(0);
      expect(agents[String(toolAgentId)]).toBeGreaterThan(0);
    },
    120_000 + ROUNDS * 5_000,
  );

  it(
    'add up after many calls at the same time',
    async () => {
      const client = v1(withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] })));
      const messages = [{ role: 'user' as const, content: 'Hello' }];
      const call = async (at: number): Promise<void> => {
        const model = ['sim-chat', 'sim-messages', 'sim-ollama'][at % 3] ?? '';
        switch (at % 10) {
          case 0:
            await client.embeddings.create({ model: 'sim-embed-64', input: ['one', 'two'] });
            break;
          case 1: {
            const documents = ['a laptop', 'a shoe'];
            const body = { model: 'sim-rerank', query: 'laptop', documents };
            await client.post('/rerank', { body });
            break;
          }
          case 2: {
            const asked = { model: 'sim-refused--status-401', messages };
            await client.chat.completions.create(asked).catch(() => undefined);
            break;
          }
          case 3: {
            const leaving = new AbortController();
            const asked = { model: 'sim-slow--delay-30', messages, stream: true } as const;
            const { signal } = leaving;
            const stream = await client.chat.completions.create(asked, { signal });
            for await (const _ of stream) leaving.abort();
            break;
          }
          case 4:
          case 5:
            await client.chat.completions.create({ model, messages });
            break;
          default:
            for await (const _ of await client.chat.completions.create({
              model,
              messages,
              stream: true,
            }));
        }
      };
      const numbers = Array.from({ length: MANY }, (_, at) => at).values();
      const work = async (): Promise<void> => {
        for (const at of numbers) await call(at);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      await ended();
      const { total } = await usage();
      expect([total.calls, simulator.total]).toEqual([MANY, MANY]);
      expect(total).toMatchObject({ failures: MANY / 10, aborts: MANY / 10, estimates: MANY / 10 });
      const { calls, inputTokens, outputTokens } = simulator.answered;
      expect(calls).toBe((MANY / 10) * 8);
      const [recorded] = await query(
        `SELECT count(*)::int AS calls, sum(input_tokens)::int AS "inputTokens",
                sum(output_tokens)::int AS "outputTokens" FROM upstream_call WHERE outcome = 'ok'`,
      );
      expect(recorded).toEqual({ calls, inputTokens, outputTokens });
    },
    60_000 + MANY * 100,
  );

  it('name the agent of what its tools and its knowledge cost', async () => {
    simulator.script({
      match: { model: 'sim-chat', path: '/chat/completions' },
      ...calling('search_knowledge', { query: 'laptop' }),
    });
    await sendChat(admin, { agentId: toolAgentId, content: 'How long is the warranty?' });
    const { rows: found } = await usage(`?groupBy=agent,feature&agentId=${toolAgentId}`);
    expect(found.map(({ groups, calls }) => [groups[1]?.key, calls]).sort()).toEqual([
      ['agent', 2],
      ['retrieval', 2],
    ]);
  });

  it('has a row for each attempt, and nothing used where nothing was taken', async () => {
    await sendChat(admin, { model: 'sim-broken--status-503', content: 'One' });
    await sendChat(admin, { model: 'sim-gone', content: 'Two' });
    const found = await rows();
    expect(found.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['overloaded', 1],
      ['overloaded', 2],
      ['connection', 1],
      ['connection', 2],
    ]);
    for (const row of found) expect(row).toMatchObject({ inputTokens: 0, estimates: 0 });
  });

  it('counts images and characters, and prices each', async () => {
    const priced = async (modelName: string, prices: object): Promise<void> => {
      const path = `/system/model/list?modelName=${modelName}`;
      const { rows: found } = done(await admin.get<{ id: number; modelName: string }[]>(path));
      done(
        await admin.put('/system/model', {
          id: found.find((one) => one.modelName === modelName)?.id,
          ...prices,
        }),
      );
    };
    await priced('sync-image', { imagePrice: 0.04 });
    await priced('sync-speech', { characterPrice: 15 });
    done(await admin.post('/media/image', { model: 'sync-image', prompt: 'A cat' }));
    done(await admin.post('/media/speech', { model: 'sync-speech', input: 'Good day' }));
    expect((await usage('?groupBy=kind')).rows).toMatchObject([
      { calls: 2, images: 1, characters: 8, cost: '0.04012' },
    ]);
  });

  it('have looks at tasks and counts of tokens, which reports tell only when asked', async () => {
    const image = { model: 'async-image', prompt: 'A house' };
    expect((await admin.raw('POST', '/v1/images/generations', image)).status).toBe(200);
    const counted = { model: 'sim-messages', messages: [{ role: 'user', content: 'Hello' }] };
    expect((await admin.raw('POST', '/v1/messages/count_tokens', counted)).status).toBe(200);
    await flushLedger();

    const kinds = (await rows()).map(({ kind }) => kind);
    expect(kinds).toHaveLength(simulator.total);
    const looks = kinds.filter((kind) => kind === 'lookup').length;
    expect(looks).toBeGreaterThan(0);
    expect([...new Set(kinds)].sort()).toEqual(['count', 'lookup', 'media']);
    expect(by(await usage('?groupBy=kind'))).toEqual({ media: 1 });
    expect((await usage('?kind=lookup')).total).toMatchObject({ calls: looks, cost: null });
    expect(by(await usage('?groupBy=kind&kind=count'))).toEqual({ count: 1 });
    const { text } = await admin.raw('GET', '/monitor/usage/export?kind=count');
    expect(text.trim().split('\n')).toHaveLength(2);
  });

  it('keeps the price of the time of a call', async () => {
    const price = (inputPrice: number, cachedInputPrice: number | '' = ''): Promise<unknown> =>
      admin
        .put('/system/model', { id: modelId, inputPrice, outputPrice: 0, cachedInputPrice })
        .then(done);
    const ask = (): Promise<unknown> => sendChat(admin, { model: 'sim-chat', content: 'Hello' });
    await price(0.1);
    await ask();
    await price(0.3);
    await ask();
    done(await admin.put('/system/model', { id: modelId, remark: 'no price' }));
    await ask();
    await flushLedger();
    const recorded = await query<{ version: number; cost: string; tokens: number }>(
      `SELECT price_version AS version, trim_scale(cost)::text AS cost, input_tokens AS tokens
         FROM upstream_call ORDER BY call_time`,
    );
    const [first, second, third] = recorded;
    const tokens = first?.tokens ?? 0;
    const expected = [0.1, 0.3, 0.3].map((one) =>
      ((tokens * one) / 1e6).toFixed(12).replace(/0+$/, ''),
    );
    expect(recorded.map(({ cost }) => cost)).toEqual(expected);
    expect(second?.version).not.toBe(first?.version);
    expect(third?.version).toBe(second?.version);
    // Sums are exact where floating point is not.
    const { total } = await usage();
    expect(total.cost).toBe(((tokens * 0.7) / 1e6).toFixed(12).replace(/0+$/, ''));
    done(await admin.put('/system/model', { id: modelId, inputPrice: '', outputPrice: '' }));
    await ask();
    await flushLedger();
    const last = await query<{ cost: null }>(
      'SELECT cost FROM upstream_call ORDER BY call_time DESC LIMIT 1',
    );
    expect(last).toEqual([{ cost: null }]);
  });

  it('become sums of days, and the report stays the same', async () => {
    for (const model of ['sim-chat', 'sim-ollama', 'sim-broken--status-503']) {
      await sendChat(admin, { model, content: 'Hello' });
      await sendChat(admin, { model, content: 'Hello again' });
    }
    await flushLedger();
    await query("UPDATE upstream_call SET call_time = call_time - interval '20 days'");
    await sendChat(admin, { model: 'sim-chat', content: 'Now' });
    const reports = (): Promise<Report[]> =>
      Promise.all(
        ['?groupBy=day,model', '?groupBy=user', '?groupBy=provider,door'].map((one) => usage(one)),
      );
    const before = await reports();
    expect(before[0]?.total.calls).toBe(9);
    const retention = plinth.app.get(UsageRetention, { strict: false });
    await Promise.all([retention.round(), retention.round()]);
    const kept = await query<{ calls: number; attempt: number | null }>(
      'SELECT calls, attempt FROM upstream_call ORDER BY call_time, calls DESC',
    );
    expect(kept.map(({ calls }) => calls)).toEqual([4, 2, 2, 1]);
    expect(kept.map(({ attempt }) => attempt)).toEqual([null, null, null, 1]);
    expect(await reports()).toEqual(before);
    await query("UPDATE upstream_call SET call_time = call_time - interval '2000 days'");
    await plinth.app.get(RetentionSweep, { strict: false }).sweep();
    expect(await rows()).toEqual([]);
  });
});

describe('the report', () => {
  it('shows everybody their own calls, and those of others with the permission alone', async () => {
    const user = await makeUser(plinth, admin, 'frugal', [await roleId(admin, 'user')]);
    await sendChat(admin, { model: 'sim-chat', content: 'Hello' });
    await sendChat(user.session, { model: 'sim-chat', content: 'Hello' });
    expect(await user.session.get('/monitor/usage')).toMatchObject({ code: 403 });
    const refused = await user.session.raw('GET', '/monitor/usage/export');
    expect(JSON.parse(refused.text)).toMatchObject({ code: 403 });
    expect((await usage('/own', user.session)).total.calls).toBe(1);
    const csv = await user.session.raw('GET', '/monitor/usage/own/export');
    expect(csv.text).toContain('frugal');
    expect(csv.text).not.toContain(',admin,');
    const all = await usage('?groupBy=user');
    expect(all.rows.map(({ groups }) => groups[0]?.name).sort()).toEqual(['admin', 'frugal']);
    const program = withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] }));
    await sendChat(program, { model: 'sim-chat', content: 'Hello' });
    expect((await usage('/own')).total.calls).toBe(2);
    expect((await usage('/own', program)).total.calls).toBe(1);
    const ofKey = await program.raw('GET', '/monitor/usage/own/export');
    expect(ofKey.text.trim().split('\r\n')).toHaveLength(2);
    expect((await usage(`?groupBy=user&userId=${user.id}`)).total.calls).toBe(1);
    done(await admin.delete(`/system/user/${user.id}`));
    const erased = await usage(`?groupBy=user&userId=${user.id}`);
    expect(erased.rows).toMatchObject([
      { calls: 1, groups: [{ key: String(user.id), name: null }] },
    ]);
  });

  it('shows nothing of another tenant', async () => {
    const other = await makeTenant(plinth, admin, '345678');
    await sendChat(admin, { model: 'sim-chat', content: 'Hello' });
    await flushLedger();
    expect((await usage('', other.admin)).total).toMatchObject({ calls: 0, cost: null });
    const { text } = await other.admin.raw('GET', '/monitor/usage/export');
    expect(text.trim().split('\r\n')).toHaveLength(1);
  });

  it('groups by what is asked for, says what a limit has left out, and refuses other words', async () => {
    await sendChat(admin, { model: 'sim-chat', content: 'Hello' });
    await sendChat(admin, { model: 'sim-ollama', content: 'Hello' });
    const limited = await usage('?groupBy=model,provider&limit=1');
    expect(limited.rows).toHaveLength(1);
    expect(limited).toMatchObject({ more: true, total: { calls: 2 } });
    expect((await usage('?groupBy=hour')).rows[0]?.groups[0]?.key).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:00$/,
    );
    for (const words of [
      'groupBy=day,model,user',
      'groupBy=password',
      'door=window',
      'from=yesterday',
    ]) {
      expect(await admin.get(`/monitor/usage?${words}`)).toMatchObject({ code: 400 });
    }
  });

  it.each([
    ['=1+1,"x"', `"'=1+1,""x"""`],
    ['＝1+1', `'＝1+1`],
    ['\n=1+1', `"'\n'=1+1"`],
    ['a; =1+1;b-c', `a; '=1+1;b-c`],
  ])('is exported as CSV whose texts no spreadsheet takes for formulas: %j', async (name, cell) => {
    const key = await makeKey(admin, { name, permissions: ['chat:chat:use'] });
    await v1(withKey(admin, key)).chat.completions.create({
      model: 'sim-chat',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    await flushLedger();
    const { text, headers } = await admin.raw('GET', '/monitor/usage/export');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(headers['content-disposition']).toContain('usage.csv');
    expect(text).toContain(`,${key.id},${cell},v1,chat,`);
    expect(text.trim().split('\r\n')).toHaveLength(2);
  });
});
