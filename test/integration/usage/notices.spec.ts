import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { NoticeRepository } from '../../../src/notice/notice.repository.js';
import { NoticeWorker } from '../../../src/notice/notice.worker.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { canary } from '../../support/canary.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

/** 30 tokens a call. */
const FIXED = 'sim-fixed--inputtokens-10--outputtokens-20';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Target {
  readonly lastState: string | null;
  readonly lastError: string | null;
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let secret: string;
let hook: { readonly url: string; readonly close: () => void };
const received: Received[] = [];
const mails: string[] = [];
/** The statuses that the webhook answers with next; 204 without one. */
const statuses: number[] = [];

const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData: (stream, _, callback) => {
    void text(stream).then((mail) => {
      mails.push(mail);
      callback();
    });
  },
});

beforeAll(async () => {
  simulator = await startSimulator();
  const server = createServer((request, response) => {
    server.unref();
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve));
  smtp.server.unref();
  const portOf = (one: { address(): unknown }): number => (one.address() as { port: number }).port;
  hook = {
    url: `http://127.0.0.1:${portOf(server)}/hook`,
    close: () => server.closeAllConnections(),
  };
  plinth = await Plinth.start({
    SMTP_URL: `smtp://127.0.0.1:${portOf(smtp.server)}`,
    MAIL_FROM: 'Plinth <plinth@example.com>',
  });
  // The rounds of this process: the tests make their own.
  await plinth.app.get(NoticeWorker, { strict: false }).beforeApplicationShutdown();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  await createModel(admin, { ...service, modelName: FIXED });
  const webhook = { kind: 'webhook', address: hook.url };
  secret = done(await admin.post<{ secret: string }>('/system/limit/target', webhook)).data.secret;
  canary.protect('webhook secret', secret);
  done(await admin.post('/system/limit/target', { kind: 'mail', address: 'costs@example.com' }));
});

beforeEach(async () => {
  received.length = 0;
  mails.length = 0;
  await query('DELETE FROM usage_limit');
  await query('DELETE FROM upstream_call');
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
  hook.close();
  smtp.close();
});

function query<Result>(sql: string): Promise<Result[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query<Result>(sql));
}

/** A limit of 1,000 tokens of which so many are used, and a call after that. */
async function use(used: number): Promise<number> {
  const fields = { scope: 'user', measure: 'tokens-day', cap: 1_000 };
  const { id } = done(await admin.post<{ id: number }>('/system/limit', fields)).data;
  await call(1);
  if (used > 0) {
    await query(`UPDATE usage_counter SET used = ${used} WHERE limit_id = ${id}`);
    await call(1);
  }
  return id;
}

async function call(count: number): Promise<void> {
  const messages = [{ role: 'user', content: 'Hello' }];
  for (let made = 0; made < count; made += 1) {
    const body = { model: FIXED, messages, max_tokens: 5 };
    expect((await admin.raw('POST', '/v1/chat/completions', body)).status).toBe(200);
  }
  await plinth.app.get(UsageLedger, { strict: false }).settled();
}

/** Two rounds at the same time, as two processes make them. */
async function deliver(): Promise<void> {
  const worker = plinth.app.get(NoticeWorker, { strict: false });
  const { signal } = new AbortController();
  await Promise.all([worker.round(signal), worker.round(signal)]);
}

const percents = (): number[] =>
  received
    .map(({ body }) => (JSON.parse(body) as { data: { percent: number } }).data.percent)
    .sort((one, other) => one - other);

it('tells each threshold once a period, signed, to webhooks and by mail', async () => {
  const id = await use(0);
  expect(await query('SELECT percent FROM usage_threshold')).toEqual([]);
  await query(`UPDATE usage_counter SET used = 790 WHERE limit_id = ${id}`);
  await call(1);
  await deliver();
  expect(percents()).toEqual([50, 80]);
  expect(mails).toHaveLength(2);
  await query(`UPDATE usage_counter SET used = 100 WHERE limit_id = ${id}`);
  await call(1);
  await query(`UPDATE usage_counter SET used = 500 WHERE limit_id = ${id}`);
  await call(1);
  await deliver();
  expect(percents()).toEqual([50, 80]);
  const { use: usage } = done(
    await admin.get<{ use: { threshold: number } }>(`/system/limit/${id}`),
  ).data;
  expect(usage.threshold).toBe(80);
  for (const { headers, body } of received) {
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      type: 'usage.threshold',
      data: { scope: 'user', subject: 'admin', measure: 'tokens-day', limitId: id, cap: 1_000 },
    });
  }
  expect(mails.join('')).toMatch(/Subject: 50 % of a limit used: tokens-day of user admin/);
  expect(mails.join('')).toMatch(/To: costs@example.com/);
  // The next day has thresholds of its own.
  const counter = `limit_id = ${id}`;
  await query(
    `UPDATE usage_counter SET period_start = period_start - interval '1 day' WHERE ${counter}`,
  );
  await query(`INSERT INTO usage_threshold SELECT limit_id, subject_id, period_start - interval '1 day', percent, tenant_id,
                      used, cap FROM usage_threshold WHERE ${counter}`);
  await query(
    `DELETE FROM usage_threshold WHERE ${counter} AND period_start > now() - interval '1 day'`,
  );
  await query(
    `UPDATE upstream_call SET input_tokens = 600, output_tokens = 0 WHERE id = (SELECT min(id::text)::uuid FROM upstream_call)`,
  );
  await call(1);
  await deliver();
  expect(percents()).toEqual([50, 50, 80]);
});

it('is repeated with the same id after a crash and after failures, and ends after a day', async () => {
  await use(480);
  const repository = plinth.app.get(NoticeRepository, { strict: false });
  // A process that ends between claim and delivery.
  const claimed = await repository.claim(20);
  expect(claimed).toHaveLength(2);
  await deliver();
  expect(received).toEqual([]);
  const again = (): Promise<unknown> => query('UPDATE notice_delivery SET due_time = now()');
  await again();
  statuses.push(500);
  await deliver();
  expect(mails).toHaveLength(1);
  const states = async (): Promise<Target[]> =>
    done(await admin.get<Target[]>('/system/limit/target/list?orderByColumn=id&isAsc=asc')).rows;
  expect((await states())[0]).toMatchObject({
    lastState: 'waiting',
    lastError: 'The webhook answered with status 500.',
  });
  await again();
  await deliver();
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(
    Array(2).fill(claimed.find(({ kind }) => kind === 'webhook')?.id),
  );
  await again();
  await deliver();
  expect([received.length, mails.length]).toEqual([2, 1]);
  expect((await states())[0]).toMatchObject({ lastState: 'delivered', lastError: null });
  await query(`UPDATE notice_delivery SET state = 'waiting', due_time = now(),
                      create_time = now() - interval '24 hours'`);
  statuses.push(503);
  await deliver();
  expect((await states())[0]).toMatchObject({ lastState: 'failed' });
});

it('ends at once where a webhook is gone, and with the address that is removed', async () => {
  await use(480);
  statuses.push(410);
  await deliver();
  const { rows } = done(await admin.get<Target[]>('/system/limit/target/list'));
  expect(rows.map(({ lastState }) => lastState).sort()).toEqual(['delivered', 'failed']);
  const other = { kind: 'webhook', address: `${hook.url}/other` };
  const { id } = done(await admin.post<{ id: number }>('/system/limit/target', other)).data;
  await query('DELETE FROM usage_limit');
  await use(480);
  done(await admin.delete(`/system/limit/target/${id}`));
  expect(await query(`SELECT FROM notice_delivery WHERE target_id = ${id}`)).toEqual([]);
  expect((await admin.post('/system/limit/target', { ...other, address: hook.url })).code).toBe(
    409,
  );
  const wrong = [
    { kind: 'webhook', address: 'http://169.254.169.254/latest' },
    { kind: 'mail', address: 'a@example.com, b@example.com' },
  ];
  for (const fields of wrong) {
    expect((await admin.post('/system/limit/target', fields)).code).toBe(400);
  }
});
