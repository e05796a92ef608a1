import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import jwt from 'jsonwebtoken';
import type { Algorithm } from 'jsonwebtoken';
import { createHmac } from 'node:crypto';
import type { TokenClaims } from '../../../src/platform/access/index.js';
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
    const claims = jwt.decode(String(answer.data['access_token']));
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
      msg: 'clientId is required, grantType is required',
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
    const claims = claimsOf(admin);
    const { tokenKey } = plinth.app.get<Config>(CONFIG);
    const sign = (algorithm: Algorithm, key: Buffer, change: object) =>
      jwt.sign({ ...claims, ...change }, key, { algorithm });
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(claims))}.`;
    const forged = [
      unsigned.replaceAll('=', ''),
      sign('HS256', Buffer.alloc(32), {}),
      sign('HS512', tokenKey, {}),
      sign('HS512', Buffer.alloc(64), {}),
      sign('HS256', tokenKey, { userId: 999 }),
      sign('HS256', tokenKey, { sid: 'null' }),
      sign('HS256', tokenKey, { exp: 1 }),
      sign('HS256', tokenKey, { nbf: Math.floor(Date.now() / 1_000) + 3_600 }),
    ];
    for (const token of forged) {
      const session = new Session(plinth.url, {
        ...admin.headers,
        authorization: `Bearer ${token}`,
      });
      expect(await session.get('/system/permission/list')).toMatchObject({ code: 401 });
    }
  });

  it('takes a token by its form, whichever library has made it', async () => {
    const admin = await plinth.signIn();
    const { tokenKey } = plinth.app.get<Config>(CONFIG);
    const { sid, tenantId, userId, userName, clientid, exp, iat } = claimsOf(admin);
    const claims = { sid, tenantId, userId, userName, clientid, exp, iat };
    const [header, payload] = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const signature = createHmac('sha256', tokenKey)
      .update(`${header}.${payload}`)
      .digest('base64url');
    const authorization = `Bearer ${header}.${payload}.${signature}`;
    expect(authorization).toBe(admin.headers['authorization']);
    const { exp: _, ...forever } = claims;
    for (const [given, code] of [
      [{ ...claims, iat: 1 }, 200],
      [forever, 401],
    ] as const) {
      const token = jwt.sign(given, tokenKey, { algorithm: 'HS256' });
      const session = new Session(plinth.url, {
        ...admin.headers,
        authorization: `Bearer ${token}`,
      });
      expect(await session.get('/system/permission/list')).toMatchObject({ code });
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

function claimsOf(session: Session): TokenClaims & { iat: number } {
  const token = (session.headers['authorization'] ?? '').slice('Bearer '.length);
  return jwt.decode(token) as TokenClaims & { iat: number };
}
