import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { createApp } from '../../src/app.js';
import { loadConfig } from '../../src/platform/config/index.js';
import { startFailure } from '../../src/platform/observability/index.js';
import { Canary, canary } from '../support/canary.js';
import { makeKey, rotateKey, withKey } from '../support/api-keys.js';
import { PIXELS, uploadFile } from '../support/chat-files.js';
import { createModel, createProvider } from '../support/models.js';
import { done, makeUser, PASSWORD, roleId } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import { ENDLESS, pathParameters, routeTable } from '../support/route-table.js';
import type { Session } from '../support/session.js';
import { rowsOf } from '../support/tables.js';
import { SECRET_KEY } from '../support/template.js';

const TOKEN = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzaWQiOiJub2JvZHkifQ', 'c2lnbmF0dXJl'].join('.');

describe('the canary', () => {
  it('finds a planted secret in a text, in JSON and in an address', () => {
    const own = new Canary();
    const secret = own.plant('unit');

    expect(() => own.check('an answer', `{"msg":"The key ${secret} is wrong."}`)).toThrow(
      'A planted secret leaked in an answer: {"msg":"The key [it] is wrong."}',
    );
    expect(() => own.check('an answer', secret.slice(1))).not.toThrow();
  });

  it('finds what requests carry in secret fields, however it is spelt', () => {
    const own = new Canary();
    own.protectFieldsOf({ user: { password: 'a "quoted" p&ss' }, name: 'not-a-secret-1' });

    expect(() => own.check('a log', String.raw`{"sent":"a \"quoted\" p&ss"}`)).toThrow(
      'A password',
    );
    expect(() => own.check('a log', '/x?p=a%20%22quoted%22%20p%26ss')).toThrow('A password');
    expect(() => own.check('a log', 'not-a-secret-1')).not.toThrow();
  });

  it('leaves out what stands in texts by chance', () => {
    const own = new Canary();
    own.protect('password', 'short');
    own.protect('password', 'password');

    expect(() => own.check('an answer', 'short password')).not.toThrow();
  });

  it('lets no token into a log, whoever it belongs to', () => {
    expect(() => new Canary().checkLog([`{"header":"${TOKEN}"}`])).toThrow(
      'A token leaked in the log',
    );
    expect(() => new Canary().checkLog(['{"msg":"request"}'])).not.toThrow();
  });
});

describe('a test file', () => {
  it('fails when a secret is in an answer', async () => {
    const plinth = await Plinth.start();
    const secret = canary.plant('echoed');
    await expect(plinth.anonymous().get(`/no/route/${secret}`)).rejects.toThrow(
      'A planted secret leaked in GET /no/route/',
    );
    // What was asked for stands in the log as well.
    await expect(plinth.stop()).rejects.toThrow('A planted secret leaked in the log');
  });

  it('fails when a secret is in a log line', async () => {
    const plinth = await Plinth.start();
    new Logger('Careless').log(`The key is ${canary.plant('logged')}.`);
    await expect(plinth.stop()).rejects.toThrow('A planted secret leaked in the log: ');
  });
});

describe('secrets of a running Plinth', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    simulator = await startSimulator();
    admin = await plinth.signIn();
    done(await admin.put('/system/user/profile', { nickName: 'Admin' }));
    const role = await roleId(admin, 'admin');
    const { id, session } = await makeUser(plinth, admin, 'keeper', [role]);
    const passwords = { oldPassword: PASSWORD, newPassword: canary.plant('own') };
    done(await session.put('/system/user/profile/updatePwd', passwords));
    const password = canary.plant('reset');
    done(await admin.put('/system/user/resetPwd', { userId: id, password }));
    const clientSecret = canary.plant('client');
    const client = { clientKey: 'canary', clientSecret, grantTypeList: ['password'] };
    done(await admin.post('/system/client', client));
    await useModels();
    await useKeys();
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  /** Keys that are used, mistyped, sent where they do not belong, and replaced. */
  async function useKeys(): Promise<void> {
    const made = await makeKey(admin, { permissions: ['chat:chat:use', 'system:model:list'] });
    const own = withKey(admin, made);
    done(await own.get('/system/model/list'));
    await own.raw('POST', '/chat/send', { model: 'custom_api--leak', content: 'Hello' });
    const next = await rotateKey(admin, made.id, 60);
    expect(await withKey(admin, { key: `${next.key}0` }).get('/system/model/list')).toMatchObject({
      code: 401,
    });
    await plinth.anonymous().get(`/system/model/list?Authorization=Bearer%20${next.key}`);
    new Logger('Careless').log(`The key is ${next.key}.`);
    expect(plinth.log.at(-1)).toContain(`The key is ${next.prefix}-[hidden].`);
    done(await admin.delete(`/system/apikey/${made.id}`));
  }

  /** Models whose services quote the key they were sent, in every way they can fail. */
  async function useModels(): Promise<void> {
    const files = [
      await uploadFile(admin, 'photo.png', PIXELS['image/png']),
      await uploadFile(admin, 'note.txt', 'What was noted.'),
    ];
    for (const providerCode of ['custom_api', 'custom_messages']) {
      await createProvider(admin, providerCode).catch(() => undefined);
      for (const behaviour of ['leak', 'leak--status-500', 'leak--error-2', 'echo', 'cut-2']) {
        const modelName = `${providerCode}--${behaviour}`;
        const apiKey = canary.plant(behaviour);
        const fields = { providerCode, modelName, apiKey, apiHost: simulator.url };
        const id = await createModel(admin, fields);
        const sessionId = done(await admin.post<string>('/system/session', {})).data;
        const asked = { model: modelName, content: 'Hello', sessionId, files };
        await admin.raw('POST', '/chat/send', asked);
        await voteOnAnswers(sessionId);
        await admin.post(`/system/model/${id}/test`, {});
        done(await admin.put('/system/model', { id, apiKey: canary.plant('changed') }));
      }
      done(
        await admin.put('/system/model/batchKeyByProvider', {
          providerCode,
          apiKey: canary.plant('batch'),
        }),
      );
    }
  }

  /** The lists of feedback repeat answers, errors included. */
  async function voteOnAnswers(sessionId: string): Promise<void> {
    const { rows } = done(
      await admin.get<{ id: string }[]>(
        `/system/message/list?sessionId=${sessionId}&role=assistant`,
      ),
    );
    expect(rows.length).toBe(1);
    for (const { id } of rows) done(await admin.put(`/chat/feedback/${id}`, { vote: 'up' }));
    await admin.raw('POST', '/chat/send', { model: 'none', sessionId, regenerate: rows[0]?.id });
  }

  it('reached the services, and nothing else', async () => {
    expect(simulator.requests.length).toBeGreaterThan(15);
    expect(simulator.requests.map(({ headers }) => JSON.stringify(headers)).join()).toContain(
      'sk-canary-leak',
    );
    const seen: string[] = [];
    for (const route of routeTable(plinth.app)) {
      if (route.method !== 'GET' || ENDLESS.has(route.path)) continue;
      if (pathParameters(route).length > 0) continue;
      const { text } = await admin.raw('GET', route.path);
      seen.push(text);
    }
    const { rows } = done(await admin.get<{ id: number }[]>('/system/model/list'));
    for (const { id } of rows) seen.push(JSON.stringify(await admin.get(`/system/model/${id}`)));
    seen.push((await plinth.anonymous().raw('GET', '/docs/json')).text);

    // The session has searched each of them; this says that there was something to search.
    expect(seen.length).toBeGreaterThan(30);
    expect(seen.join('').length).toBeGreaterThan(100_000);
  });

  it('are in no row as they are', async () => {
    const rows = await rowsOf(plinth);

    expect(rows.length).toBeGreaterThan(100);
    for (const row of rows) canary.check('a row', row);
  });

  it('are in no file', () => {
    const files = readdirSync(plinth.dataDir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(plinth.dataDir, name))
      .filter((path) => statSync(path).isFile());
    for (const path of files) canary.check(path, readFileSync(path, 'latin1'));
  });

  it('are in no error that the start reports', async () => {
    const DATABASE_URL = `postgres://user:${canary.plant('address')}@127.0.0.1:9/none`;
    const config = loadConfig({ DATABASE_URL, SECRET_KEY, LOG_LEVEL: 'trace', LOG_FORMAT: 'json' });
    const log: string[] = [];
    const start = createApp(config, { log: { write: (line) => void log.push(line) } });
    const error: unknown = await start.catch((thrown: unknown) => thrown);

    const reported = startFailure(error, config);
    expect(reported).toContain('ECONNREFUSED');
    canary.check('what the start reports', reported);
    canary.checkLog(log);
  });
});
