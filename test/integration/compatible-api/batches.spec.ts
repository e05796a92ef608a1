import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import Anthropic, { toFile as toMessagesFile } from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { BatchRetention } from '../../../src/compatible-api/batch/batch.retention.js';
import { RetentionSweep } from '../../../src/platform/retention/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import type { MadeKey } from '../../support/api-keys.js';
import { failureOf } from '../../support/compatible-api.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

type Endpoint = OpenAI.BatchCreateParams['endpoint'];
interface ResultLine {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: Readonly<Record<string, unknown>>;
  } | null;
  readonly error: { readonly code: string } | null;
}

const CHAT = '/v1/chat/completions';
const HELLO = [{ role: 'user', content: 'Hello' }] as const;

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let key: MadeKey;
let openai: OpenAI;
let anthropic: Anthropic;
let echoId: number;
let holdId: number;

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({ API_FILES_MB_PER_USER: '1' });
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages']) await createProvider(admin, code);
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key-of-the-service-12345' };
  echoId = await createModel(admin, { ...service, modelName: 'sim--echo' });
  holdId = await createModel(admin, { ...service, modelName: 'sim--hold' });
  await createModel(admin, { ...service, modelName: 'sim--status-400' });
  const providerCode = 'custom_messages';
  await createModel(admin, { ...service, modelName: 'sim-messages', providerCode });
  const embedding = { category: 'vector', modelDimension: 64, modelName: 'sim-embed-64' };
  await createModel(admin, { ...service, ...embedding });
  await createModel(admin, { ...service, category: 'moderation', modelName: 'omni-moderation' });
  key = await makeKey(admin, { permissions: ['chat:chat:use'] });
  ({ openai, anthropic } = clientsOf(key));
});

beforeEach(() => simulator.reset());

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

function clientsOf(made: MadeKey): { openai: OpenAI; anthropic: Anthropic } {
  const apiKey = (withKey(admin, made).headers['authorization'] ?? '').replace('Bearer ', '');
  return {
    openai: new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: plinth.url, apiKey, maxRetries: 0 }),
  };
}

function lineOf(customId: string, body: object, url: string = CHAT): string {
  return JSON.stringify({ custom_id: customId, method: 'POST', url, body });
}

function chat(customId: string, content = customId, model = 'sim--echo'): string {
  return lineOf(customId, { model, messages: [{ role: 'user', content }] });
}

async function uploaded(text: string, client = openai): Promise<OpenAI.FileObject> {
  return client.files.create({
    file: await toFile(Buffer.from(text), 'in.jsonl'),
    purpose: 'batch',
  });
}

async function begun(
  lines: readonly string[],
  { endpoint = CHAT, client = openai }: { endpoint?: Endpoint; client?: OpenAI } = {},
): Promise<OpenAI.Batch> {
  const { id } = await uploaded(lines.join('\n'), client);
  return client.batches.create({ input_file_id: id, endpoint, completion_window: '24h' });
}

async function ended({ id }: { readonly id: string }, client = openai): Promise<OpenAI.Batch> {
  return eventually(
    () => client.batches.retrieve(id),
    ({ status }) => ['completed', 'failed', 'expired', 'cancelled'].includes(status),
  );
}

async function linesIn(fileId: string | undefined, client = openai): Promise<ResultLine[]> {
  const text = await (await client.files.content(fileId ?? '')).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ResultLine);
}

async function held(count: number): Promise<void> {
  await eventually(
    () => simulator.requests.filter(({ model }) => model === 'sim--hold').length,
    (open) => open >= count,
  );
}

describe('/v1/files', () => {
  it('keeps what was sent, for its user alone', async () => {
    const bytes = Buffer.from('a file\nof some lines\n');
    const file = await openai.files.create({
      file: await toFile(bytes, 'notes.txt'),
      purpose: 'user_data',
      expires_after: { anchor: 'created_at', seconds: 7_200 },
    });
    expect(file).toMatchObject({
      ...{ object: 'file', bytes: bytes.length, filename: 'notes.txt' },
      ...{ purpose: 'user_data', status: 'processed' },
      expires_at: file.created_at + 7_200,
    });
    expect(await openai.files.retrieve(file.id)).toEqual(file);
    expect(Buffer.from(await (await openai.files.content(file.id)).arrayBuffer())).toEqual(bytes);

    const page = await openai.files.list({ limit: 1, purpose: 'user_data' });
    expect(page.data).toEqual([file]);
    expect(await openai.files.delete(file.id)).toEqual({
      ...{ id: file.id, object: 'file', deleted: true },
    });
    const gone = await failureOf(OpenAI.APIError, openai.files.retrieve(file.id));
    expect([gone.status, gone.type]).toEqual([404, 'invalid_request_error']);
  });

  it('pages by the last file', async () => {
    const made = [await uploaded('1'), await uploaded('2'), await uploaded('3')];
    const pages: string[] = [];
    for await (const { id } of openai.files.list({ limit: 1, order: 'asc' })) pages.push(id);
    expect(pages.slice(-3)).toEqual(made.map(({ id }) => id));
  });

  it.each([
    ['fine-tune', 'purpose'],
    ['evals', 'purpose'],
  ] as const)('refuses the purpose %s by its name', async (purpose, param) => {
    const file = await toFile(Buffer.from('x'), 'x.jsonl');
    const error = await failureOf(OpenAI.APIError, openai.files.create({ file, purpose }));
    expect([error.status, error.param]).toEqual([400, param]);
    expect(error.message).toContain(purpose);
  });

  it('holds a user to the quota', async () => {
    const other = clientsOf(await makeKey(admin, { permissions: ['chat:chat:use'] })).openai;
    const file = await toFile(Buffer.alloc(2 ** 20 + 1), 'large.bin');
    const error = await failureOf(
      OpenAI.APIError,
      other.files.create({ file, purpose: 'user_data' }),
    );
    expect([error.status, error.message]).toEqual([429, expect.stringContaining('1 MiB')]);
  });

  it('answers clients of Anthropic in their form', async () => {
    const file = await anthropic.beta.files.upload({
      file: await toMessagesFile(Buffer.from('plain words'), 'words.txt', { type: 'text/plain' }),
    });
    expect(file).toMatchObject({
      ...{ type: 'file', filename: 'words.txt', size_bytes: 11, mime_type: 'text/plain' },
    });
    expect(await anthropic.beta.files.retrieveMetadata(file.id)).toEqual(file);
    expect((await anthropic.beta.files.list({ limit: 1 })).data).toEqual([file]);
    expect(await (await anthropic.beta.files.download(file.id)).text()).toBe('plain words');
    expect(await anthropic.beta.files.delete(file.id)).toEqual({
      ...{ id: file.id, type: 'file_deleted' },
    });
    const gone = await failureOf(
      Anthropic.APIError,
      anthropic.beta.files.retrieveMetadata(file.id),
    );
    expect([gone.status, gone.type]).toEqual([404, 'not_found_error']);
  });

  it('can be named in the requests of each protocol', async () => {
    const { id } = await openai.files.create({
      file: await toFile(Buffer.from('The code word is pelican.'), 'secret.txt'),
      purpose: 'user_data',
    });
    const part = { type: 'file', file: { file_id: id } } as const;
    await openai.chat.completions.create({
      model: 'sim-messages',
      messages: [{ role: 'user', content: [part] }],
    });
    await openai.responses.create({
      model: 'sim-messages',
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
    });
    await anthropic.beta.messages.create({
      model: 'sim--echo',
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'file', file_id: id } }],
        },
      ],
    });
    const bodies = simulator.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies).toHaveLength(3);
    for (const body of bodies) expect(body).toContain('The code word is pelican.');
    await anthropic.beta.messages.countTokens({
      model: 'sim-messages',
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'file', file_id: id } }],
        },
      ],
    });
    const counted = simulator.requests.at(-1);
    expect(counted?.path).toContain('count_tokens');
    expect(JSON.stringify(counted?.body)).toContain('The code word is pelican.');

    await openai.files.delete(id);
    const error = await failureOf(
      OpenAI.APIError,
      openai.chat.completions.create({
        model: 'sim-messages',
        messages: [{ role: 'user', content: [part] }],
      }),
    );
    expect([error.status, error.message]).toEqual([400, expect.stringContaining(id)]);
  });
});

describe('/v1/batches', () => {
  it('answers the lines of a file, and keeps failures apart', async () => {
    const made = await begun([chat('one'), '', chat('two', 'x', 'no-model'), chat('three')]);
    expect(made).toMatchObject({ object: 'batch', endpoint: CHAT, completion_window: '24h' });
    const batch = await ended(made);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 3, completed: 2, failed: 1 },
    });
    expect(batch.usage?.total_tokens).toBeGreaterThan(0);

    const lines = await linesIn(batch.output_file_id);
    expect(lines.map(({ custom_id }) => custom_id)).toEqual(['one', 'three']);
    expect(lines[0]).toMatchObject({
      id: expect.stringMatching(/^batch_req_/),
      response: {
        status_code: 200,
        request_id: expect.any(String),
        body: { object: 'chat.completion', choices: [{ message: { content: 'one' } }] },
      },
      error: null,
    });
    expect(await linesIn(batch.error_file_id)).toMatchObject([
      {
        custom_id: 'two',
        response: { status_code: 404, body: { error: { code: 'model_not_found' } } },
        error: null,
      },
    ]);
    const file = await openai.files.retrieve(batch.output_file_id ?? '');
    expect(file.purpose).toBe('batch_output');
    const [listed] = (await openai.batches.list({ limit: 1 })).data;
    expect(listed).toEqual(batch);
  });

  it.each([
    ['/v1/embeddings', { model: 'sim-embed-64', input: ['a', 'b'] }, 'list'],
    ['/v1/responses', { model: 'sim--echo', input: 'Hello', store: false }, 'response'],
    ['/v1/completions', { model: 'sim--echo', prompt: 'def add(' }, 'text_completion'],
    ['/v1/moderations', { input: 'kind words' }, undefined],
  ] as const)('answers %s by what answers the same request', async (endpoint, body, object) => {
    const batch = await ended(await begun([lineOf('a', body, endpoint)], { endpoint }));
    expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    const [line] = await linesIn(batch.output_file_id);
    expect(line?.response).toMatchObject({ status_code: 200, body: object ? { object } : {} });
  });

  it.each([
    ['is no JSON', [chat('a'), '{'], 'invalid_json_line', 2, null],
    ['is no object', ['7'], 'invalid_json_line', 1, null],
    ['repeats a custom_id', [chat('a'), chat('a')], 'duplicate_custom_id', 2, 'custom_id'],
    ['has another url', [lineOf('a', {}, '/v1/embeddings')], 'url_mismatch', 1, 'url'],
    ['has an unknown url', [lineOf('a', {}, '/v1/nothing')], 'url_mismatch', 1, 'url'],
    ['has no custom_id', ['{}'], 'missing_required_parameter', 1, 'custom_id'],
    [
      'is a stream',
      [lineOf('a', { model: 'sim--echo', stream: true, messages: HELLO })],
      ...(['invalid_parameter', 1, 'body.stream'] as const),
    ],
    ['is not there', [' '], 'empty_file', null, null],
  ] as const)('fails where a line %s', async (_what, lines, ...[code, line, param]) => {
    const batch = await ended(await begun(lines));
    expect(batch.status).toBe('failed');
    expect(batch.errors?.data).toEqual([{ code, line, param, message: expect.any(String) }]);
    expect(simulator.requests).toEqual([]);
  });

  it.each([
    [{ endpoint: '/v1/images/generations' as Endpoint }, 'endpoint'],
    [{ completion_window: '1h' as '24h' }, 'completion_window'],
    [{ input_file_id: 'file-0' }, 'input_file_id'],
  ])('refuses to begin with %o', async (fields, param) => {
    const { id } = await uploaded(chat('a'));
    const usual = { input_file_id: id, endpoint: CHAT, completion_window: '24h' } as const;
    const error = await failureOf(OpenAI.APIError, openai.batches.create({ ...usual, ...fields }));
    expect([error.status, error.param]).toEqual([400, param]);
  });

  it('keeps what was answered when it is cancelled', async () => {
    const lines = Array.from({ length: 40 }, (_, at) => chat(`n-${at}`, 'x', 'sim--hold'));
    const made = await begun([chat('first'), ...lines]);
    await held(10);
    const cancelling = await openai.batches.cancel(made.id);
    expect(cancelling.status).toBe('cancelling');
    simulator.release();
    const batch = await ended(made);
    expect(batch).toMatchObject({ status: 'cancelled', cancelled_at: expect.any(Number) });
    const { completed = 0, failed } = batch.request_counts ?? {};
    expect(completed).toBe(11);
    expect(completed + (failed ?? 0)).toBe(41);
    // Half of the 20 places of the user.
    expect(simulator.requests).toHaveLength(11);
    expect(await linesIn(batch.output_file_id)).toHaveLength(completed);
    const errors = await linesIn(batch.error_file_id);
    expect(new Set(errors.map(({ error }) => error?.code))).toEqual(new Set(['batch_cancelled']));
    const again = await failureOf(
      OpenAI.APIError,
      openai.batches.cancel((await begunAndEnded()).id),
    );
    expect(again.status).toBe(409);
  });

  it('expires with what was answered by then', async () => {
    const lines = Array.from({ length: 20 }, (_, at) => chat(`n-${at}`, 'x', 'sim--hold'));
    const made = await begun(lines);
    await held(10);
    await sql(`UPDATE api_batch SET expire_time = now() WHERE id = $1`, [made.id]);
    simulator.release();
    const batch = await ended(made);
    expect(batch).toMatchObject({ status: 'expired', expired_at: expect.any(Number) });
    expect(batch.request_counts).toEqual({ total: 20, completed: 10, failed: 10 });
    const [line] = await linesIn(batch.error_file_id);
    expect(line).toMatchObject({ response: null, error: { code: 'batch_expired' } });
  });

  it('waits where a service throttles, and leaves half of the requests of a minute', async () => {
    simulator.script({ match: { model: 'sim--echo' }, status: 429, retryAfter: 1 });
    const batch = await ended(await begun([chat('a')]));
    expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });

    const { data: limit } = done(
      await admin.post<{ id: number }>('/system/limit', {
        ...{ scope: 'model', modelId: echoId, measure: 'requests-minute', cap: 6 },
      }),
    );
    simulator.reset();
    const made = await begun(['a', 'b', 'c', 'd', 'e'].map((one) => chat(one)));
    const { request_counts: counts } = await eventually(
      () => openai.batches.retrieve(made.id),
      ({ request_counts }) => request_counts?.completed === 3,
    );
    expect(counts).toEqual({ total: 5, completed: 3, failed: 0 });
    const direct = await openai.chat.completions.create({
      model: 'sim--echo',
      messages: [...HELLO],
    });
    expect(direct.choices).toHaveLength(1);
    expect(simulator.requests).toHaveLength(4);
    done(await admin.delete(`/system/limit/${limit.id}`));
    await sql('UPDATE api_batch SET due_time = now() WHERE id = $1', [made.id]);
    expect((await ended(made)).request_counts).toEqual({ total: 5, completed: 5, failed: 0 });
  });

  it('ends at once when it is cancelled while it waits for a service', async () => {
    simulator.script({ match: { model: 'sim--echo' }, status: 429, retryAfter: 500 });
    const made = await begun([chat('a')]);
    await eventually(
      () => sql(`SELECT 1 FROM api_batch WHERE id = $1 AND due_time > now()`, [made.id]),
      (rows) => rows.length > 0,
    );
    await openai.batches.cancel(made.id);
    expect(await ended(made)).toMatchObject({
      status: 'cancelled',
      request_counts: { total: 1, completed: 0, failed: 1 },
    });
  });

  it('fails what is left once its key is revoked', async () => {
    const made = await makeKey(admin, { permissions: ['chat:chat:use'] });
    const lines = Array.from({ length: 30 }, (_, at) => chat(`n-${at}`, 'x', 'sim--hold'));
    const batch = await begun(lines, { client: clientsOf(made).openai });
    await held(10);
    done(await admin.delete(`/system/apiKey/${made.id}`));
    // Those in flight end as well: the service never answers.
    const end = await ended(batch);
    expect(end).toMatchObject({
      status: 'completed',
      request_counts: { total: 30, completed: 0, failed: 30 },
    });
    simulator.release();
    const errors = await linesIn(end.error_file_id);
    expect(errors[0]?.response).toMatchObject({
      status_code: 401,
      body: { error: { message: expect.stringContaining('key of the batch') } },
    });
  });

  it('ends calls in flight of a model that its user loses, and answers with the others', async () => {
    const role = await makeRole(admin, 'batches', ['system:apikey:add']);
    const { session } = await makeUser(plinth, admin, 'batcher', [role]);
    const { openai: client } = clientsOf(
      await makeKey(session, { permissions: ['chat:chat:use'] }),
    );
    const batch = await begun([chat('kept'), chat('lost', 'x', 'sim--hold')], { client });
    await held(1);
    await eventually(
      () => client.batches.retrieve(batch.id),
      ({ request_counts: counts }) => counts?.completed === 1,
    );
    const grants = [{ subject: 'tenant', level: 'use' }];
    done(await admin.put(`/access/model/${holdId}`, { grants: [] }));
    const end = await ended(batch, client);
    done(await admin.put(`/access/model/${holdId}`, { grants }));
    expect(end.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
    const [line] = await linesIn(end.error_file_id, client);
    expect(line).toMatchObject({
      custom_id: 'lost',
      response: {
        status_code: 403,
        body: { error: { message: expect.stringContaining('may not use the model') } },
      },
    });
  });

  it('costs the part of the price that the model says', async () => {
    const prices = { inputPrice: 1_000, outputPrice: 1_000 };
    done(await admin.put('/system/model', { id: echoId, ...prices, batchPriceFactor: 0.5 }));
    await ended(await begun([chat('a')]));
    await openai.chat.completions.create({
      model: 'sim--echo',
      messages: [{ role: 'user', content: 'a' }],
    });
    const rows = await eventually(
      () =>
        sql<{ door: string; unit: number }>(
          `SELECT door, (cost / (input_tokens + output_tokens))::float8 AS unit FROM upstream_call
            WHERE model_name = 'sim--echo' AND cost IS NOT NULL ORDER BY call_time`,
        ),
      (found) => found.length === 2,
    );
    expect(rows).toEqual([
      { door: 'batch', unit: 0.0005 },
      { door: 'v1', unit: 0.001 },
    ]);
  });

  it('is removed with its files when their time is over', async () => {
    const batch = await begunAndEnded();
    const days = `interval '32 days'`;
    await sql(`UPDATE api_file SET expire_time = expire_time - ${days} WHERE id = $1`, [
      batch.output_file_id,
    ]);
    await sql(`UPDATE api_batch SET end_time = end_time - ${days} WHERE id = $1`, [batch.id]);
    const retention = plinth.app.get(BatchRetention, { strict: false });
    expect(await retention.prune()).toBe(1);
    await plinth.app.get(RetentionSweep, { strict: false }).sweep();
    const error = await failureOf(OpenAI.APIError, openai.batches.retrieve(batch.id));
    expect(error.status).toBe(404);
  });
});

describe('/v1/messages/batches', () => {
  it('answers messages, with a result for each', async () => {
    const params = { max_tokens: 50, messages: [...HELLO] };
    const made = await anthropic.messages.batches.create({
      requests: [
        { custom_id: 'good', params: { ...params, model: 'sim-messages' } },
        { custom_id: 'translated', params: { ...params, model: 'sim--echo' } },
        { custom_id: 'bad', params: { ...params, model: 'sim--status-400' } },
      ],
    });
    expect(made).toMatchObject({ type: 'message_batch', results_url: null, ended_at: null });
    const batch = await messagesEnded(made.id);
    expect(batch).toMatchObject({
      processing_status: 'ended',
      request_counts: { processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 0 },
      results_url: `${plinth.url}/v1/messages/batches/${made.id}/results`,
    });
    const results = new Map<string, unknown>();
    for await (const { custom_id, result } of await anthropic.messages.batches.results(made.id)) {
      results.set(custom_id, result);
    }
    expect([...results.keys()]).toEqual(['good', 'translated', 'bad']);
    expect(results.get('good')).toMatchObject({
      type: 'succeeded',
      message: { type: 'message', role: 'assistant' },
    });
    expect(results.get('translated')).toMatchObject({
      message: { content: [{ type: 'text', text: 'Hello' }] },
    });
    expect(results.get('bad')).toMatchObject({
      type: 'errored',
      error: { type: 'error', error: { type: 'invalid_request_error' } },
    });
    const pages: string[] = [];
    for await (const { id } of anthropic.messages.batches.list({ limit: 1 })) pages.push(id);
    expect(pages).toContain(made.id);
    expect(await anthropic.messages.batches.delete(made.id)).toEqual({
      ...{ id: made.id, type: 'message_batch_deleted' },
    });
    const gone = await failureOf(Anthropic.APIError, anthropic.messages.batches.retrieve(made.id));
    expect([gone.status, gone.type]).toEqual([404, 'not_found_error']);
  });

  it('cancels', async () => {
    const params = { model: 'sim--hold', max_tokens: 50, messages: [...HELLO] };
    const requests = Array.from({ length: 20 }, (_, at) => ({ custom_id: `n-${at}`, params }));
    const { id } = await anthropic.messages.batches.create({ requests });
    await held(10);
    expect(
      (await failureOf(Anthropic.APIError, anthropic.messages.batches.delete(id))).status,
    ).toBe(409);
    expect(await anthropic.messages.batches.cancel(id)).toMatchObject({
      ...{ processing_status: 'canceling', cancel_initiated_at: expect.any(String) },
    });
    simulator.release();
    const { request_counts: counts } = await messagesEnded(id);
    expect(counts).toMatchObject({ succeeded: 10, canceled: 10 });
  });

  it.each([
    [[{ custom_id: 'a b', params: {} }], 'custom_id'],
    [
      [
        { custom_id: 'a', params: {} },
        { custom_id: 'a', params: {} },
      ],
      'custom_id a is that of another',
    ],
    [[{ custom_id: 'a', params: { stream: true } }], 'stream'],
    [[], 'requests'],
  ])('refuses %j', async (requests, named) => {
    const call = anthropic.messages.batches.create({
      requests: requests as Anthropic.Messages.BatchCreateParams['requests'],
    });
    const error = await failureOf(Anthropic.APIError, call);
    expect([error.status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toContain(named);
  });
});

async function messagesEnded(id: string): Promise<Anthropic.Messages.MessageBatch> {
  return eventually(
    () => anthropic.messages.batches.retrieve(id),
    ({ processing_status }) => processing_status === 'ended',
  );
}

async function begunAndEnded(): Promise<OpenAI.Batch> {
  return ended(await begun([chat('a')]));
}

function sql<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const database = plinth.app.get(Database, { strict: false });
  return acrossTenants('test', () => database.query<Row>(text, values));
}
