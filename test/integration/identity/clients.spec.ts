import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { IdentitySeed } from '../../../src/identity/identity.seed.js';
import { canary } from '../../support/canary.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, WEB_CLIENT } from '../../support/template.js';

interface ClientRow {
  id: number;
  clientId: string;
  clientKey: string;
}

describe('clients', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  const byKey = async (clientKey: string): Promise<ClientRow> => {
    const { rows } = await root.get<ClientRow[]>(`/system/client/list?clientKey=${clientKey}`);
    const [row] = rows;
    if (!row) throw new Error(`There is no client ${clientKey}.`);
    return row;
  };

  it('are seeded as existing apps know them, without showing secrets', async () => {
    const { rows } = await root.get<Record<string, unknown>[]>('/system/client/list');
    expect(rows).toEqual(
      [
        ['0d4c873ff6146ecd7f38e2e45526ab1b', 'web', 'sms,email,password', 'pc'],
        ['428a8310cd442757ae699df5d894f051', 'app', 'password,sms,social', 'android'],
        ['e5cd7e4891bf95d1d19206ce24a7b32e', 'pc', 'password,social', 'pc'],
      ].map(([clientId, clientKey, grantType, deviceType]) => ({
        id: expect.any(Number),
        clientId,
        clientKey,
        clientSecret: '******',
        grantType,
        grantTypeList: grantType?.split(','),
        deviceType,
        activeTimeout: 1_800,
        timeout: 604_800,
        status: '0',
        inlineThinking: clientKey !== 'app',
        inlineSources: clientKey !== 'app',
        inlineFailures: clientKey !== 'app',
        revision: 1,
        createTime: expect.any(String),
      })),
    );
  });

  it.each([
    'e5cd7e4891bf95d1d19206ce24a7b32e',
    '428a8310cd442757ae699df5d894f051',
    '0d4c873ff6146ecd7f38e2e45526ab1b',
  ])('lets people sign in with the seeded client %s', async (clientId) => {
    const session = await plinth.signIn('admin', ADMIN_PASSWORD, '000000', clientId);
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 200 });
  });

  it('makes a client whose sign-ins live as long as it says', async () => {
    const clientSecret = canary.plant('client');
    done(
      await root.post('/system/client', {
        clientKey: 'short',
        clientSecret,
        grantTypeList: ['password'],
        deviceType: 'pc',
        activeTimeout: 60,
        timeout: 120,
      }),
    );
    const made = await byKey('short');
    expect(made.clientId).toMatch(/^[\da-f]{32}$/);
    const { data } = await plinth.anonymous().post<{ expire_in: number }>('/auth/login', {
      clientId: made.clientId,
      grantType: 'password',
      username: 'admin',
      password: ADMIN_PASSWORD,
    });
    expect(data.expire_in).toBe(120);
    const [stored] = await plinth.app
      .get(Database)
      .query<{ clientSecret: string }>(
        `SELECT client_secret AS "clientSecret" FROM client WHERE client_key = 'short'`,
      );
    expect(stored?.clientSecret).toMatch(/^[\da-f]{64}$/);
    expect((await root.get(`/system/client/${made.id}`)).data).toEqual(made);
  });

  it('refuses its sign-ins while it is disabled, and forgets them when it is deleted', async () => {
    done(
      await root.post('/system/client', {
        clientKey: 'brief',
        clientSecret: 'brief-secret',
        grantTypeList: 'password',
      }),
    );
    const { id, clientId } = await byKey('brief');
    const signIn = () => plinth.signIn('admin', ADMIN_PASSWORD, '000000', clientId);
    const session = await signIn();
    done(await root.put('/system/client/changeStatus', { id, status: '1' }));
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    await expect(signIn()).rejects.toThrow('This client is disabled.');
    done(await root.put('/system/client/changeStatus', { clientId, status: '0' }));
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 200 });
    done(await root.put('/system/client', { id, grantTypeList: ['sms'] }));
    await expect(signIn()).rejects.toThrow('may not sign in with the grant type password');
    done(await root.delete(`/system/client/${id}`));
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });

  it('does not lock its own administrator out', async () => {
    const { id } = await byKey('pc');
    for (const answer of [
      await root.put('/system/client/changeStatus', { id, status: '1' }),
      await root.put('/system/client', { id, status: '1' }),
      await root.delete(`/system/client/${id}`),
    ]) {
      expect(answer).toMatchObject({
        code: 403,
        msg: 'You are signed in with this client and would lock yourself out. Use another client.',
      });
    }
    expect(WEB_CLIENT).toBe((await byKey('pc')).clientId);
  });

  it.each([
    [{ clientKey: 'pc' }, 409, 'The client key pc is taken. Choose another one.'],
    [
      { grantTypeList: ['magic'] },
      400,
      'grantTypeList must contain one or more of password, email, sms, social, xcx.',
    ],
    [
      { grantTypeList: [] },
      400,
      'grantTypeList must contain one or more of password, email, sms, social, xcx.',
    ],
    [{ timeout: 0 }, 400, 'timeout must be at least 1'],
  ])('refuses %j', async (change, code, msg) => {
    const body = { clientKey: 'new', clientSecret: 'secret-x', grantTypeList: ['password'] };
    expect(await root.post('/system/client', { ...body, ...change })).toMatchObject({ code, msg });
  });

  it('seeds nothing twice, and brings nothing back that was deleted', async () => {
    const { id } = await byKey('app');
    done(await root.delete(`/system/client/${id}`));
    await plinth.app.get(IdentitySeed).onApplicationBootstrap();
    const { rows } = await root.get<ClientRow[]>('/system/client/list');
    expect(rows.map(({ clientKey }) => clientKey)).toEqual(['short', 'web', 'pc']);
    expect((await root.get('/system/tenant/list')).total).toBe(1);
  });
});
