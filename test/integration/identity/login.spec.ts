import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, WEB_CLIENT } from '../../support/template.js';

const OTHER_CLIENT = '428a8310cd442757ae699df5d894f051';
const SIGNED_OUT = 'You are not signed in, or the sign-in has ended. Sign in again.';

const credentials = {
  tenantId: '000000',
  username: 'admin',
  password: ADMIN_PASSWORD,
  clientId: WEB_CLIENT,
  grantType: 'password',
};

describe('signing in', () => {
  let plinth: Plinth;

  beforeAll(async () => {
    plinth = await Plinth.start();
  });
  afterAll(() => plinth.stop());

  const login = (change: Record<string, unknown>) =>
    plinth.anonymous().post<Record<string, unknown>>('/auth/login', { ...credentials, ...change });

  it('answers a token as existing clients read it', async () => {
    const answer = await login({ uuid: 'a5705def96be468f80e4b8bde3127c31' });
    expect(answer).toEqual({
      code: 200,
      msg: 'Done.',
      data: {
        access_token: expect.any(String),
        refresh_token: null,
        expire_in: 604_800,
        refresh_expire_in: null,
        client_id: WEB_CLIENT,
        scope: null,
        openid: null,
      },
    });
    const claims = decodeJwt(String(answer.data['access_token']));
    expect(claims).toMatchObject({ tenantId: '000000', userName: 'admin', clientid: WEB_CLIENT });
  });

  it('takes the name in any case and the default tenant', async () => {
    const { tenantId: _, ...rest } = { ...credentials, username: 'ADMIN' };
    expect(await plinth.anonymous().post('/auth/login', rest)).toMatchObject({ code: 200 });
  });

  it('takes the literal token "undefined" of a client that is not signed in', async () => {
    const session = new Session(plinth.url, {
      authorization: 'Bearer undefined',
      clientid: WEB_CLIENT,
    });
    expect(await session.post('/auth/login', credentials)).toMatchObject({ code: 200 });
  });

  it.each([
    [{ clientId: 'nobody' }, 'This client may not sign in with the grant type password.'],
    [{ grantType: 'pass' }, 'This client may not sign in with the grant type pass.'],
    [{ grantType: 'social' }, 'Only the grant type password is supported here.'],
    [
      { tenantId: '999999' },
      'This tenant does not exist. Check the tenant id, or ask your administrator.',
    ],
    [{ password: 'wrong-password' }, 'The user name or the password is wrong.'],
    [{ username: `nobody-${Date.now()}` }, 'The user name or the password is wrong.'],
  ])('refuses %j', async (change, msg) => {
    expect(await login(change)).toEqual({ code: 500, msg, data: null });
  });

  it.each([{ password: '' }, { password: null }, { username: null }])(
    'refuses %j as bad input',
    async (change) => {
      expect(await login(change)).toMatchObject({ code: 400 });
    },
  );

  it('names what is missing', async () => {
    expect(await plinth.anonymous().post('/auth/login', {})).toMatchObject({
      code: 400,
      msg: 'clientId must be text, grantType must be text',
    });
  });

  it.each(['', 'null', 'undefined', 'Bearer', 'Bearer null', 'Bearer []', '[object Object]'])(
    'does not take %j for a token',
    async (authorization) => {
      const session = new Session(plinth.url, { authorization, clientid: WEB_CLIENT });
      expect(await session.get('/system/permission/list')).toEqual({
        code: 401,
        msg: SIGNED_OUT,
        data: null,
      });
    },
  );

  it('takes a token only with its own client id', async () => {
    const admin = await plinth.signIn();
    expect(await admin.get('/system/permission/list')).toMatchObject({ code: 200 });
    for (const clientid of [OTHER_CLIENT, '', 'null']) {
      const moved = new Session(plinth.url, { ...admin.headers, clientid });
      expect(await moved.get('/system/permission/list')).toMatchObject({ code: 401 });
    }
  });

  it('refuses forged and unsigned tokens of a real sign-in', async () => {
    const admin = await plinth.signIn();
    const claims = decodeJwt((admin.headers['authorization'] ?? '').slice('Bearer '.length));
    const config = plinth.app.get<Config>(CONFIG);
    const sign = (alg: string, key: Uint8Array, change: object) =>
      new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg }).sign(key);
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(claims))}.`;
    const forged = [
      unsigned.replaceAll('=', ''),
      await sign('HS256', new Uint8Array(32), {}),
      await sign('HS512', new Uint8Array(64), {}),
      await sign('HS256', config.tokenKey, { userId: 999 }),
      await sign('HS256', config.tokenKey, { sid: 'null' }),
      await sign('HS256', config.tokenKey, { exp: 1 }),
    ];
    for (const token of forged) {
      const session = new Session(plinth.url, {
        ...admin.headers,
        authorization: `Bearer ${token}`,
      });
      expect(await session.get('/system/permission/list')).toMatchObject({ code: 401 });
    }
  });

  it('signs out: the token is dead at once, and doing it again does not fail', async () => {
    const admin = await plinth.signIn();
    expect(await admin.post('/auth/logout')).toMatchObject({ code: 200 });
    expect(await admin.get('/system/permission/list')).toMatchObject({ code: 401 });
    expect(await admin.post('/auth/logout')).toMatchObject({ code: 200 });
    expect(await plinth.anonymous().post('/auth/logout')).toMatchObject({ code: 200 });
  });
});
