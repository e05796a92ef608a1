import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { SSO_CHECK } from '../../../src/identity/sso/sso.checks.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { SsoRepository } from '../../../src/identity/sso/sso.repository.js';
import { SsoUsers } from '../../../src/identity/sso/sso.users.js';
import { inTenant } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { CLIENT_SECRET, OidcProvider } from '../../support/oidc-provider.js';
import { done, makeRole, makeTenant, makeUser, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { sealedUnder } from '../../support/secret-keys.js';
import type { Session } from '../../support/session.js';
import { connectProvider, landing, sendLogout, SsoBrowser } from '../../support/sso.js';
import type { MadeProvider } from '../../support/sso.js';
import { ADMIN_PASSWORD, SECRET_KEY } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const NEXT_KEY = 'another-test-key-of-at-least-32-characters';
const SLOW = 'sim--chunks-5000--delay-10';
const TENANT = '700001';
const USED = 'The sign-in has expired or was used already. Start again.';
const ME = '/system/user/getInfo';

interface Me {
  readonly user: { readonly userId: number; readonly userName: string };
  readonly roles: string[];
  readonly tenantId: string;
}

/** An endpoint that lists the groups of a user: Microsoft Graph's action, or a distributed claim (OpenID Connect Core, 5.6.2). */
async function startDirectory(first: object) {
  const asked: { method: string | undefined; hasToken: boolean; body: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += String(piece)));
    request.on('end', () => {
      const { method, headers } = request;
      const hasToken = /^Bearer ./.test(headers.authorization ?? '');
      asked.push({ method, hasToken, body: text === '' ? undefined : JSON.parse(text) });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(directory.answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = {
    asked,
    answer: first,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return directory;
}

interface Entry {
  readonly action: string;
  readonly actorName: string | null;
  readonly detail: Record<string, unknown>;
}

describe('single sign-on', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let provider: OidcProvider;
  let root: Session;
  let admin: Session;
  let made: MadeProvider;
  const roles: Record<string, number> = {};

  overrideConstants(SSO_CHECK, { intervalSeconds: 1 });

  beforeAll(async () => {
    simulator = await startSimulator();
    provider = await OidcProvider.start();
    plinth = await Plinth.start({ LOGIN_ATTEMPTS_PER_MINUTE: '10000' });
    root = await plinth.signIn();
    ({ admin } = await makeTenant(plinth, root, TENANT));
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    await createModel(admin, { modelName: SLOW, apiHost, apiKey: 'key-one' });
    for (const key of ['staff', 'boss', 'own']) {
      roles[key] = await makeRole(admin, key, [
        'system:model:list',
        'system:apikey:add',
        'system:apikey:list',
      ]);
    }
    made = await connectProvider(admin, provider, {
      scopes: 'openid profile email offline_access',
      groupsClaim: 'groups',
      roleMapping: [
        { value: 'staff', roleId: roles['staff'] },
        { value: 'boss', roleId: roles['boss'] },
      ],
    });
  });
  afterAll(async () => {
    await plinth.stop();
    await provider.stop();
    await simulator.close();
  });
  beforeEach(() => {
    simulator.reset();
    provider.alter = undefined;
    provider.refuses = undefined;
    provider.isDown = false;
    provider.userInfo = {};
  });

  let people = 0;
  function somebody(claims: object = {}): string {
    people += 1;
    const sub = `person-${people}`;
    provider.person = { sub, preferred_username: sub, ...claims };
    return sub;
  }

  async function signIn(claims: object = {}): Promise<{ sub: string; me: Me; session: Session }> {
    const sub = somebody(claims);
    const session = await new SsoBrowser(plinth).signIn(made.publicId);
    return { sub, session, me: done(await session.get<Me>(ME)).data };
  }

  async function audited(action: string): Promise<Entry[]> {
    const { rows } = done(await admin.get<Entry[]>(`/monitor/audit/list?action=${action}`));
    return rows;
  }

  describe('a sign-in', () => {
    it('creates the user, gives the mapped roles and leads back to the page', async () => {
      somebody({ preferred_username: 'jo doe', name: 'Jo Doe', email: 'jo@example.com' });
      provider.person = { ...provider.person, groups: ['staff', 'others'] };
      const browser = new SsoBrowser(plinth);
      const { address, code } = await browser.land(made.publicId, '/models?q=a');
      expect(address.pathname).toBe('/sign-in');
      expect(address.searchParams.get('next')).toBe('/models?q=a');
      expect(address.search).not.toContain(code);

      const session = await browser.sessionOf(code ?? '');
      expect(done(await session.get<Me>(ME)).data).toMatchObject({
        user: { userName: 'jodoe', nickName: 'Jo Doe', email: 'jo@example.com' },
        roles: ['staff'],
        tenantId: TENANT,
      });
      expect(await browser.exchange(code)).toMatchObject({
        code: 500,
        msg: USED,
      });
      const [login] = await audited('login');
      expect(login).toMatchObject({ actorName: 'jodoe', detail: { ssoProvider: made.id } });
    });

    it('finds the user by provider and subject alone', async () => {
      const { me } = await signIn({ preferred_username: 'boss' });
      // The administrator of the tenant has the name.
      expect(me.user.userName).toBe('boss-2');
      provider.person = { ...provider.person, preferred_username: 'renamed', email: 'x@y.z' };
      const again = await new SsoBrowser(plinth).signIn(made.publicId);
      expect(done(await again.get<Me>(ME)).data.user.userId).toBe(me.user.userId);
    });

    it('sets the mapped roles each time and leaves the others', async () => {
      const { me } = await signIn({ groups: ['staff'] });
      const { userId } = me.user;
      const given = [roles['staff'], roles['own']].join(',');
      done(await admin.put(`/system/user/authRole?userId=${userId}&roleIds=${given}`));
      provider.person = { ...provider.person, groups: ['boss'] };
      const again = await new SsoBrowser(plinth).signIn(made.publicId);
      expect(done(await again.get<Me>(ME)).data.roles.sort()).toEqual(['boss', 'own']);
      provider.person = { ...provider.person, groups: [] };
      const third = await new SsoBrowser(plinth).signIn(made.publicId);
      expect(done(await third.get<Me>(ME)).data.roles).toEqual(['own']);
    });

    it('reads groups that the id token lacks from the userinfo endpoint', async () => {
      provider.userInfo = { groups: ['boss'] };
      expect((await signIn()).me.roles).toEqual(['boss']);
    });

    describe('whose token leaves the groups out', () => {
      const people: object[] = [];
      const elsewhere = (endpoint?: string): Record<string, unknown> => ({
        groups: undefined,
        _claim_names: { groups: 'src1' },
        ...(endpoint !== undefined && { _claim_sources: { src1: { endpoint } } }),
      });
      /** The same person again, with these claims. */
      const again = async (claims: object): Promise<string[]> => {
        provider.person = { ...provider.person, ...claims };
        const session = await new SsoBrowser(plinth).signIn(made.publicId);
        return done(await session.get<Me>(ME)).data.roles;
      };

      it.each([
        ['no source', elsewhere()],
        ['a source that is away', elsewhere('http://127.0.0.1:1/getMemberObjects')],
        ['hasgroups alone', { groups: undefined, hasgroups: true }],
      ])('keeps the former roles where it names %s', async (_, claims) => {
        const { me } = await signIn({ groups: ['boss'] });
        people.push(provider.person);
        expect(await again(claims)).toEqual(['boss']);
        const entries = await audited('update');
        expect(entries).toContainEqual(
          expect.objectContaining({
            targetId: String(me.user.userId),
            detail: { ssoProvider: made.id, reason: 'groups overage' },
          }),
        );
      });

      it('counts such users in the test of the provider, until a token has their groups', async () => {
        const groupsStep = async (): Promise<unknown> =>
          done(await admin.post<{ steps: unknown[] }>(`/system/sso/${made.id}/test`)).data.steps.at(
            -1,
          );
        expect(await groupsStep()).toMatchObject({
          step: 'groups',
          ok: false,
          detail: expect.stringContaining(`Groups overage: ${people.length} users`),
        });
        for (const person of people) {
          provider.person = person as typeof provider.person;
          await again({ groups: ['boss'], hasgroups: undefined, _claim_names: undefined });
        }
        expect(await groupsStep()).toMatchObject({ step: 'groups', ok: true });
      });

      it('asks the endpoint for them with the access token', async () => {
        const { me } = await signIn({ groups: ['staff'] });
        expect(me.roles).toEqual(['staff']);
        const directory = await startDirectory({ value: ['boss', 'others'] });
        try {
          expect(await again(elsewhere(`${directory.url}/users/1/getMemberObjects`))).toEqual([
            'boss',
          ]);
          expect(directory.asked).toEqual([
            { method: 'POST', hasToken: true, body: { securityEnabledOnly: false } },
          ]);
          directory.answer = { value: ['staff'], '@odata.nextLink': `${directory.url}/2` };
          expect(await again({})).toEqual(['boss']);
          directory.answer = { groups: ['staff'] };
          expect(await again(elsewhere(`${directory.url}/claims`))).toEqual(['staff']);
        } finally {
          await directory.stop();
        }
      });
    });

    it('leads to own paths only', async () => {
      for (const path of ['//evil.example', '/\\evil.example', 'https://evil.example', '/a\tb']) {
        somebody();
        const { address } = await new SsoBrowser(plinth).land(made.publicId, path);
        expect(address.origin).toBe(plinth.url);
        expect(address.searchParams.get('next')).toBeNull();
      }
    });
  });

  describe('a connection', () => {
    interface Connection {
      readonly id: string;
      readonly name: string;
      readonly connected: boolean;
    }
    const CONNECTIONS = '/auth/sso/connections';
    const own = async (session: Session): Promise<Connection[]> =>
      done(await session.get<Connection[]>(CONNECTIONS)).data;
    let users = 0;
    async function withPassword(): Promise<Session> {
      users += 1;
      await makeUser(plinth, admin, `settled-${users}`, [roles['own'] ?? 0]);
      return plinth.signIn(`settled-${users}`, PASSWORD, TENANT);
    }

    it('lets a user with a password sign in with the provider as the same user', async () => {
      const session = await withPassword();
      const { userId } = done(await session.get<Me>(ME)).data.user;
      expect(await own(session)).toEqual([
        { id: made.publicId, name: 'Company', connected: false },
      ]);
      somebody({ groups: ['staff'] });
      const browser = new SsoBrowser(plinth);

      const { address, code } = await browser.connect(session, made.publicId, '/account?a=b');

      expect(address.href).toBe(`${plinth.url}/account?a=b`);
      expect(code).toBeUndefined();
      expect(await own(session)).toEqual([{ id: made.publicId, name: 'Company', connected: true }]);
      const me = done(await (await browser.signIn(made.publicId)).get<Me>(ME)).data;
      expect(me).toMatchObject({
        user: { userId },
        roles: expect.arrayContaining(['own', 'staff']),
      });
      const [entry] = await audited('update');
      expect(entry?.detail).toEqual({ ssoProvider: made.id, connected: true });
      // Once more changes nothing.
      expect((await browser.connect(session, made.publicId)).refusal).toBeNull();
    });

    it('takes no roles: those of the mapping count from the next sign-in with the provider', async () => {
      users += 1;
      const name = `settled-${users}`;
      const held = [roles['own'] ?? 0, roles['boss'] ?? 0];
      const { session } = await makeUser(plinth, admin, name, held);
      somebody({ groups: ['staff'] });
      const browser = new SsoBrowser(plinth);

      await browser.connect(session, made.publicId);

      const rolesOf = async (one: Session): Promise<string[]> =>
        done(await one.get<Me>(ME)).data.roles.sort();
      expect(await rolesOf(session)).toEqual(['boss', 'own', 'staff']);
      const [entry] = await audited('permission-change');
      expect(entry?.detail).toMatchObject({ ssoProvider: made.id });
      await browser.connect(session, made.publicId);
      expect(await rolesOf(session)).toEqual(['boss', 'own', 'staff']);
      expect(await rolesOf(await browser.signIn(made.publicId))).toEqual(['own', 'staff']);
    });

    it('is refused for another person, or for a person who is another user', async () => {
      const session = await withPassword();
      const { sub } = await signIn();
      expect((await new SsoBrowser(plinth).connect(session, made.publicId)).refusal).toBe(
        'other-user',
      );
      somebody();
      await new SsoBrowser(plinth).connect(session, made.publicId);
      somebody();
      const { address, refusal } = await new SsoBrowser(plinth).connect(session, made.publicId);
      expect([address.pathname, refusal]).toEqual(['/account', 'other-account']);
      expect(sub).not.toBe(provider.person['sub']);

      const name = `settled-${users}`;
      const entries = (await audited('update')).filter(({ actorName }) => actorName === name);
      expect(entries.map(({ detail }) => detail)).toEqual([
        { ssoProvider: made.id, connected: false, reason: 'other-account' },
        { ssoProvider: made.id, connected: true },
        { ssoProvider: made.id, connected: false, reason: 'other-user' },
      ]);
      const failed = (await audited('login-failed')).map(({ actorName }) => actorName);
      expect(failed).not.toContain(sub);
      expect(failed).not.toContain(provider.person['sub']);
    });

    it('ends where it began: in the same browser, with an enabled user of the tenant', async () => {
      const session = await withPassword();
      somebody();
      const begun = await session.post<{ address: string }>(`/auth/sso/${made.publicId}/connect`, {
        password: PASSWORD,
      });
      const elsewhere = new SsoBrowser(plinth);
      const back = await elsewhere.open(new URL(done(begun).data.address));
      expect(landing(await elsewhere.open(back)).refusal).toBe('expired');
      expect((await own(session))[0]?.connected).toBe(false);

      const foreign = await root.post(`/auth/sso/${made.publicId}/connect`, {
        password: ADMIN_PASSWORD,
      });
      expect(foreign).toMatchObject({ code: 500, msg: expect.stringContaining('does not exist') });
      const key = await makeKey(admin, { permissions: ['system:model:list'] });
      const byKey = await withKey(admin, key).post(`/auth/sso/${made.publicId}/connect`, {
        password: PASSWORD,
      });
      expect(byKey).toMatchObject({ code: 403 });
    });

    it('needs the password, and locks the user after too many wrong ones', async () => {
      const session = await withPassword();
      const connect = (body: object) => session.post(`/auth/sso/${made.publicId}/connect`, body);
      expect(await connect({})).toMatchObject({ code: 400 });
      const wrong = await connect({ password: 'not-the-password' });
      expect(wrong).toMatchObject({
        code: 400,
        msg: 'The password is wrong. If you have none, ask an administrator to set one.',
      });
      const locked = await eventually(
        () => connect({ password: 'not-the-password' }),
        ({ code }) => code === 500,
      );
      expect(locked.msg).toContain('Too many wrong passwords');
      expect(await connect({ password: PASSWORD })).toMatchObject({ msg: locked.msg });
    });

    it('is refused when the sign-in that has begun it has ended', async () => {
      const session = await withPassword();
      const name = `settled-${users}`;
      somebody();
      const browser = new SsoBrowser(plinth);
      const back = await browser.beginConnecting(session, made.publicId);
      done(await session.post('/auth/logout'));

      const { address, refusal } = landing(await browser.open(back));

      expect([address.pathname, refusal]).toEqual(['/sign-in', 'signed-out']);
      expect(address.searchParams.get('next')).toBe('/account');
      const again = await plinth.signIn(name, PASSWORD, TENANT);
      expect((await own(again))[0]?.connected).toBe(false);
      const [entry] = await audited('update');
      expect(entry).toMatchObject({ actorName: name, detail: { reason: 'signed-out' } });
    });

    const disconnect = (session: Session, password?: string, publicId = made.publicId) =>
      session.post(`/auth/sso/${publicId}/disconnect`, password === undefined ? {} : { password });

    it('is removed by the user, with the sign-ins that it has made', async () => {
      const session = await withPassword();
      const { userId } = done(await session.get<Me>(ME)).data.user;
      somebody();
      const browser = new SsoBrowser(plinth);
      expect(await disconnect(session, PASSWORD)).toMatchObject({ code: 404 });
      await browser.connect(session, made.publicId);
      const bySso = await browser.signIn(made.publicId);
      expect(await disconnect(session)).toMatchObject({
        code: 400,
        msg: 'Without this connection you sign in with your password. Enter it to disconnect.',
      });
      expect(await disconnect(session, 'not-the-password')).toMatchObject({ code: 400 });
      done(await bySso.get(ME));

      done(await disconnect(session, PASSWORD));

      expect(await bySso.get(ME)).toMatchObject({ code: 401 });
      expect((await own(session))[0]?.connected).toBe(false);
      const [entry] = await audited('update');
      expect(entry).toMatchObject({
        actorName: `settled-${users}`,
        detail: { ssoProvider: made.id, disconnected: true },
      });
      const stranger = await browser.signIn(made.publicId);
      expect(done(await stranger.get<Me>(ME)).data.user.userId).not.toBe(userId);
      // Another account of the provider can take its place.
      somebody();
      expect((await browser.connect(session, made.publicId)).refusal).toBeNull();
    });

    it('stays where it is the only way to sign in', async () => {
      const { session: created } = await signIn();
      for (const password of [undefined, '', 'guessed']) {
        expect(await disconnect(created, password)).toMatchObject({ code: 400 });
      }
      expect((await own(created))[0]?.connected).toBe(true);

      const tenant = await makeTenant(plinth, root, '700006');
      const first = await connectProvider(tenant.admin, provider);
      const second = await connectProvider(tenant.admin, provider, { name: 'Second' });
      const glass = await makeUser(plinth, tenant.admin, 'glass');
      const plain = await makeUser(plinth, tenant.admin, 'plain');
      const settings = { passwordLogin: false, breakGlassUserIds: [glass.id] };
      done(await tenant.admin.put('/system/sso/settings', settings));
      somebody();
      await new SsoBrowser(plinth).connect(plain.session, first.publicId);
      expect(await disconnect(plain.session, PASSWORD, first.publicId)).toMatchObject({
        code: 409,
        msg: expect.stringContaining('your only way to sign in'),
      });
      await new SsoBrowser(plinth).connect(plain.session, second.publicId);
      // A provider that is disabled signs nobody in.
      done(await tenant.admin.put('/system/sso', { id: second.id, status: '1' }));
      expect(await disconnect(plain.session, PASSWORD, first.publicId)).toMatchObject({
        code: 409,
      });
      done(await tenant.admin.put('/system/sso', { id: second.id, status: '0' }));
      done(await disconnect(plain.session, undefined, first.publicId));

      somebody();
      await new SsoBrowser(plinth).connect(glass.session, first.publicId);
      done(await disconnect(glass.session, PASSWORD, first.publicId));
    });

    it('is removed by an administrator, so that the person can be another user', async () => {
      const { me, session } = await signIn();
      const { userId } = me.user;
      const settled = await withPassword();
      const browser = new SsoBrowser(plinth);
      expect((await browser.connect(settled, made.publicId)).refusal).toBe('other-user');
      const remove = (by: Session, id: number) => by.put('/system/user/disconnect', { userId: id });
      expect(await remove(settled, userId)).toMatchObject({ code: 403 });
      const { userId: adminId } = done(await admin.get<Me>(ME)).data.user;
      expect(await remove(admin, adminId)).toMatchObject({
        msg: 'You cannot disconnect yourself. Ask another administrator.',
      });

      done(await remove(admin, userId));

      expect(await session.get(ME)).toMatchObject({ code: 401 });
      const [entry] = await audited('update');
      expect(entry?.detail).toEqual({ ssoProvider: made.id, disconnected: true });
      expect((await browser.connect(settled, made.publicId)).refusal).toBeNull();
    });
  });

  describe('is refused', () => {
    const refusalOf = async (alter: OidcProvider['alter']): Promise<string | null> => {
      somebody();
      provider.alter = alter;
      return (await new SsoBrowser(plinth).land(made.publicId)).refusal;
    };

    it('with a wrong state, one of another browser, and one that was used', async () => {
      somebody();
      const browser = new SsoBrowser(plinth);
      const back = await browser.open(await browser.start(made.publicId));
      const wrong = new URL(back);
      wrong.searchParams.set('state', 'x'.repeat(43));
      expect(landing(await browser.open(wrong)).refusal).toBe('expired');
      const other = new SsoBrowser(plinth);
      await other.start(made.publicId);
      expect(landing(await other.open(back)).refusal).toBe('expired');
      // The state is gone with its first use, whoever made it.
      expect(landing(await browser.open(back)).refusal).toBe('expired');

      const again = await browser.open(await browser.start(made.publicId));
      const { code } = landing(await browser.open(again));
      expect(landing(await browser.open(again)).refusal).toBe('expired');
      // A stolen code is worth nothing in another browser.
      expect(await other.exchange(code)).toMatchObject({ msg: USED });
    });

    it('with a code that was used', async () => {
      somebody();
      const browser = new SsoBrowser(plinth);
      const first = await browser.open(await browser.start(made.publicId));
      await browser.open(first);
      const second = await browser.open(await browser.start(made.publicId));
      second.searchParams.set('code', first.searchParams.get('code') ?? '');
      expect(landing(await browser.open(second)).refusal).toBe('invalid');
    });

    it.each([
      ['nonce', { nonce: 'another' }],
      ['issuer', { iss: 'https://another.example' }],
      ['audience', { aud: 'another' }],
      ['end', { exp: 1_000_000_000 }],
    ])('with an id token of another %s', async (_, claims) => {
      const email = 'private@example.com';
      const wrong = { ...claims, email };
      expect(await refusalOf(({ payload }) => void Object.assign(payload, wrong))).toBe('invalid');
      const lines = plinth.log.filter((line) => line.includes('Sign-in by a provider refused'));
      expect(lines.at(-1)).toContain('ClientError');
      expect(plinth.log.join()).not.toContain(email);
    });

    it.each([
      ['a space', (sub: string) => `${sub} `],
      ['the character NUL', (sub: string) => `${sub}\0`],
      ['half a pair', (sub: string) => `${sub}\ud800`],
      ['more than is kept', (sub: string) => sub.padEnd(255, 'x') + 'y'],
    ])('with a subject that is that of another user but for %s', async (_, altered) => {
      const sub = somebody();
      // Nothing is read from the userinfo endpoint, where subjects are compared as well.
      const claims = { preferred_username: 'jo', groups: ['staff'] };
      for (const known of [sub, sub.padEnd(255, 'x')]) {
        provider.person = { ...claims, sub: known };
        await new SsoBrowser(plinth).signIn(made.publicId);
      }
      provider.person = { ...claims, sub: altered(sub) };
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('invalid');
    });

    it('with an id token of an unknown key', async () => {
      expect(await refusalOf(({ header }) => void (header.kid = 'another'))).toBe('invalid');
    });

    it('where the provider refuses it, and where the secret is wrong', async () => {
      somebody();
      provider.refuses = 'access_denied';
      const denied = await new SsoBrowser(plinth).land(made.publicId, '/models');
      expect(denied.refusal).toBe('denied');
      expect(denied.address.search).toBe(`?next=%2Fmodels&ssoError=denied&tenant=${TENANT}`);
      provider.refuses = undefined;
      const wrong = await connectProvider(admin, provider, { clientSecret: 'another-secret' });
      expect((await new SsoBrowser(plinth).land(wrong.publicId)).refusal).toBe('configuration');
      done(await admin.delete(`/system/sso/${wrong.id}`));
      expect((await new SsoBrowser(plinth).land(wrong.publicId)).refusal).toBe('provider');
    });

    it('for a disabled user, whom nothing at the provider enables', async () => {
      const { me, session } = await signIn();
      const { userId } = me.user;
      done(await admin.put('/system/user/changeStatus', { userId, status: '1' }));
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('disabled');
      const [failed] = await audited('login-failed');
      expect(failed).toMatchObject({ detail: { reason: 'disabled', ssoProvider: made.id } });
    });

    it('for somebody without a user where the provider creates none', async () => {
      done(await admin.put('/system/sso', { id: made.id, allowCreate: false }));
      const sub = somebody();
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('unknown-user');
      done(await admin.put('/system/sso', { id: made.id, allowCreate: true }));
      const { rows } = done(await admin.get<object[]>(`/system/user/list?userName=${sub}`));
      expect(rows).toEqual([]);
    });

    it('where the tenant is full, disabled or has expired', async () => {
      const tenant = await makeTenant(plinth, root, '700002');
      const own = await connectProvider(tenant.admin, provider);
      const change = (fields: object) => root.put('/system/tenant', { id: tenant.id, ...fields });
      done(await change({ accountCount: 1 }));
      somebody();
      expect((await new SsoBrowser(plinth).land(own.publicId)).refusal).toBe('limit');
      done(await change({ accountCount: -1, expireTime: '2020-01-01 00:00:00' }));
      expect((await new SsoBrowser(plinth).land(own.publicId)).refusal).toBe('tenant');
      done(await change({ expireTime: '2099-01-01 00:00:00' }));
      const status = { id: tenant.id, status: '1' };
      done(await root.put('/system/tenant/changeStatus', status));
      expect((await new SsoBrowser(plinth).land(own.publicId)).refusal).toBe('tenant');
      const none = await plinth.anonymous().get('/auth/sso/providers?tenantId=700002');
      expect(none).toMatchObject({ data: { providers: [] } });
    });

    it('while the provider is down, and nothing is lost by it', async () => {
      const { session } = await signIn();
      provider.isDown = true;
      // The document is kept for minutes: another provider has none yet.
      const fresh = await connectProvider(admin, provider);
      expect((await new SsoBrowser(plinth).land(fresh.publicId)).refusal).toBe('unavailable');
      const before = provider.refusedWhileDown;
      await eventually(
        () => provider.refusedWhileDown,
        (refused) => refused > before + 2,
      );
      done(await session.get(ME));
      provider.isDown = false;
      expect((await new SsoBrowser(plinth).land(fresh.publicId)).refusal).toBeNull();
      done(await admin.delete(`/system/sso/${fresh.id}`));
    });
  });

  it('keeps two tenants with one issuer apart', async () => {
    const tenant = await makeTenant(plinth, root, '700003');
    const other = await connectProvider(tenant.admin, provider);
    const { me } = await signIn();
    const there = await new SsoBrowser(plinth).signIn(other.publicId);
    const { user, tenantId } = done(await there.get<Me>(ME)).data;
    expect(tenantId).toBe('700003');
    expect(user.userId).not.toBe(me.user.userId);
    expect(await tenant.admin.get(`/system/sso/${made.id}`)).toMatchObject({ code: 404 });
  });

  describe('back-channel logout', () => {
    it('ends the sign-ins of the session and their open streams', async () => {
      const { sub, session } = await signIn();
      const other = await new SsoBrowser(plinth).signIn(made.publicId);
      const chat = await OpenChat.send(session, { model: SLOW, content: 'Hello' });
      await chat.until('event');
      const sid = provider.sidsOf(sub)[0];
      const token = await provider.logoutToken({ sub, sid });
      expect(await sendLogout(plinth, made.publicId, token)).toEqual({ status: 200, text: '' });
      // Its answer would take a minute.
      expect((await chat.rest()).error).toMatch(/sign-in|signed/);
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      done(await other.get(ME));
      // Once.
      expect(await sendLogout(plinth, made.publicId, token)).toMatchObject({ status: 400 });

      const all = await provider.logoutToken({ sub });
      expect(await sendLogout(plinth, made.publicId, all)).toMatchObject({ status: 200 });
      expect(await other.get(ME)).toMatchObject({ code: 401 });
    });

    it.each<[string, (sub: string) => Record<string, unknown>]>([
      ['of another audience', (sub) => ({ sub, aud: 'another' })],
      ['of another issuer', (sub) => ({ sub, iss: 'https://another.example' })],
      ['with a nonce', (sub) => ({ sub, nonce: 'n' })],
      ['without the event', (sub) => ({ sub, events: {} })],
      ['without a jti', (sub) => ({ sub, jti: undefined })],
      ['of no key', () => ({})],
      ['of last week', (sub) => ({ sub, iat: 1_000_000_000, exp: 1_000_000_100 })],
    ])('refuses a token %s', async (_, claimsOf) => {
      const { sub, session } = await signIn();
      const token = await provider.logoutToken(claimsOf(sub));
      const { status, text } = await sendLogout(plinth, made.publicId, token);
      expect([status, JSON.parse(text)]).toEqual([
        400,
        { error: 'invalid_request', error_description: 'The logout token is not valid.' },
      ]);
      done(await session.get(ME));
    });

    it('refuses a token of another key, and one that is none', async () => {
      const { sub, session } = await signIn();
      const token = await provider.logoutToken({ sub }, await provider.signWithOther());
      expect(await sendLogout(plinth, made.publicId, token)).toMatchObject({ status: 400 });
      expect(await sendLogout(plinth, made.publicId, 'none')).toMatchObject({ status: 400 });
      expect(await sendLogout(plinth, made.publicId, '')).toMatchObject({ status: 400 });
      expect(await sendLogout(plinth, 'none', token)).toMatchObject({ status: 400 });
      done(await session.get(ME));
    });
  });

  it('leads to the sign-out of the provider', async () => {
    const { session } = await signIn();
    const { data } = done(await session.post<{ address: string }>('/auth/sso/logout'));
    const address = new URL(data.address);
    expect(address.origin + address.pathname).toBe(`${provider.url}/endsession`);
    expect(address.searchParams.get('post_logout_redirect_uri')).toBe(`${plinth.url}/sign-in`);
    expect(address.searchParams.get('id_token_hint')).toMatch(/^eyJ/);
    expect(await session.get(ME)).toMatchObject({ code: 401 });
    const { session: byPassword } = await makeUser(plinth, admin, 'with-password');
    expect(await byPassword.post('/auth/sso/logout')).toMatchObject({ data: { address: null } });
    expect(await byPassword.get(ME)).toMatchObject({ code: 401 });
    expect(await plinth.anonymous().post('/auth/sso/logout')).toMatchObject({
      data: { address: null },
    });
  });

  describe('a user who is removed at the provider', () => {
    it('loses sign-ins, streams and keys with the next check, until the next sign-in', async () => {
      const { sub, me, session } = await signIn({ groups: ['staff'] });
      const key = withKey(session, await makeKey(session, { permissions: ['chat:chat:use'] }));
      done(await key.get(ME));
      const chat = await OpenChat.send(session, { model: SLOW, content: 'Hello' });
      await chat.until('event');
      provider.remove(sub);
      await chat.rest();
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      expect(await key.get(ME)).toMatchObject({ code: 401 });
      const [changed] = await audited('status-change');
      expect(changed).toMatchObject({
        detail: { status: '1', ssoProvider: made.id, reason: 'refused-by-provider' },
      });
      provider.restore(sub);
      const again = await new SsoBrowser(plinth).signIn(made.publicId);
      expect(done(await again.get<Me>(ME)).data.user.userId).toBe(me.user.userId);
      done(await key.get(ME));
    });

    it('stays disabled where an administrator has disabled them meanwhile', async () => {
      const { sub, me, session } = await signIn();
      provider.remove(sub);
      await eventually(
        () => session.get(ME),
        ({ code }) => code === 401,
      );
      const { userId } = me.user;
      done(await admin.put('/system/user/changeStatus', { userId, status: '1' }));
      provider.restore(sub);
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('disabled');
    });

    it('keeps the account as the last super administrator, without the sign-ins', async () => {
      const own = await connectProvider(root, provider, { scopes: 'openid offline_access' });
      const sub = somebody();
      const session = await new SsoBrowser(plinth).signIn(own.publicId);
      const { userId } = done(await session.get<Me>(ME)).data.user;
      const { rows } = done(
        await root.get<{ roleId: number; roleKey: string }[]>('/system/role/list'),
      );
      const superadmin = rows.find(({ roleKey }) => roleKey === 'superadmin')?.roleId;
      done(await root.put(`/system/user/authRole?userId=${userId}&roleIds=${superadmin}`));
      const { user: admins } = done(await root.get<Me>(ME)).data;
      const change = (status: string) =>
        session.put('/system/user/changeStatus', { userId: admins.userId, status });
      done(await change('1'));
      provider.remove(sub);
      await eventually(
        () => session.get(ME),
        ({ code }) => code === 401,
      );
      provider.restore(sub);
      const again = await new SsoBrowser(plinth).signIn(own.publicId);
      const status = { userId: admins.userId, status: '0' };
      done(await again.put('/system/user/changeStatus', status));
      root = await plinth.signIn();
      done(await root.delete(`/system/sso/${own.id}`));
    });

    it('keeps the account as a break-glass user, who signs in with the password', async () => {
      const tenant = await makeTenant(plinth, root, '700005');
      const own = await connectProvider(tenant.admin, provider, {
        scopes: 'openid offline_access',
      });
      const glass = await makeUser(plinth, tenant.admin, 'glass');
      const sub = somebody();
      const browser = new SsoBrowser(plinth);
      await browser.connect(glass.session, own.publicId);
      const settings = { passwordLogin: false, breakGlassUserIds: [glass.id] };
      done(await tenant.admin.put('/system/sso/settings', settings));
      const session = await browser.signIn(own.publicId);

      provider.remove(sub);
      await eventually(
        () => session.get(ME),
        ({ code }) => code === 401,
      );

      // Password sign-in is off: the tenant would be locked out.
      const again = await plinth.signIn('glass', PASSWORD, '700005');
      done(await again.get(ME));
      const list = '/monitor/audit/list?action=status-change';
      const { rows } = done(await tenant.admin.get<Entry[]>(list));
      expect(rows[0]?.detail).toMatchObject({ status: '0', reason: 'refused-by-provider' });
      done(await tenant.admin.put('/system/sso', { id: own.id, status: '1' }));
    });

    it('is not suspended where an administrator disables them during the check', async () => {
      const { me } = await signIn();
      const { userId } = me.user;
      const rows = plinth.app.get(SsoRepository);
      await inTenant(TENANT, async () => {
        const identity = await rows.identities.findOne(TENANT, { userId });
        done(await admin.put('/system/user/changeStatus', { userId, status: '1' }));
        const { id = 0, providerId = 0, refreshToken = '' } = identity ?? {};
        const due = { id, tenantId: TENANT, providerId, userId, refreshToken: refreshToken ?? '' };
        await plinth.app.get(SsoUsers).suspend(due);
      });
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('disabled');
    });

    it('is not asked for again and again, and keeps the sign-in while nothing changes', async () => {
      const { session } = await signIn();
      const before = provider.refreshes;
      await eventually(
        () => provider.refreshes,
        (refreshes) => refreshes > before + 2,
      );
      done(await session.get(ME));
    });
  });

  describe('password sign-in', () => {
    it('is turned off but for break-glass users, of whom there must be one', async () => {
      const tenant = await makeTenant(plinth, root, '700004');
      const one = await makeUser(plinth, tenant.admin, 'one');
      const two = await makeUser(plinth, tenant.admin, 'two');
      const set = (body: object) => tenant.admin.put('/system/sso/settings', body);
      expect(await set({ passwordLogin: false })).toMatchObject({ code: 409 });
      const { data: service } = done(
        await tenant.admin.post<number>('/system/user/service', { userName: 'robot' }),
      );
      const wrong = { passwordLogin: false, breakGlassUserIds: [service] };
      expect(await set(wrong)).toMatchObject({ code: 409 });
      done(await set({ passwordLogin: false, breakGlassUserIds: [one.id] }));
      expect(done(await tenant.admin.get('/system/sso/settings')).data).toEqual({
        passwordLogin: false,
        breakGlassUsers: [{ userId: one.id, userName: 'one' }],
        scimAddress: `${plinth.url}/scim/v2`,
      });
      await plinth.signIn('one', PASSWORD, '700004');
      await expect(plinth.signIn('two', PASSWORD, '700004')).rejects.toThrow(
        'This tenant has turned password sign-in off.',
      );
      // Who may use a password is told to those alone who know it.
      for (const name of ['one', 'two']) {
        await expect(plinth.signIn(name, 'wrong-password', '700004')).rejects.toThrow(
          'The user name or the password is wrong.',
        );
      }
      done(await two.session.get(ME));
      const disable = { userId: one.id, status: '1' };
      expect(await tenant.admin.put('/system/user/changeStatus', disable)).toMatchObject({
        code: 409,
      });
      expect(await tenant.admin.delete(`/system/user/${one.id}`)).toMatchObject({ code: 409 });
      const key = withKey(root, await makeKey(tenant.admin, { userId: service }));
      done(await key.get(ME));
      done(await set({ passwordLogin: true }));
      await plinth.signIn('two', PASSWORD, '700004');
    });

    it('cannot be left to a user of the provider without a password', async () => {
      const { me, session } = await signIn();
      const { userId, userName } = me.user;
      const choose = { breakGlassUserIds: [userId] };
      const refused = await admin.put('/system/sso/settings', choose);
      expect(refused).toMatchObject({ code: 409, msg: expect.stringContaining(userName) });
      await expect(plinth.signIn(userName, '', TENANT)).rejects.toThrow('password are required');
      const change = { oldPassword: 'unknown', newPassword: PASSWORD };
      expect(await session.put('/system/user/profile/updatePwd', change)).toMatchObject({
        code: 400,
      });

      done(await admin.put('/system/user/resetPwd', { userId, password: PASSWORD }));
      done(await admin.put('/system/sso/settings', choose));
      await plinth.signIn(userName, PASSWORD, TENANT);
      done(await admin.put('/system/sso/settings', { breakGlassUserIds: [] }));
    });

    it('stays for super administrators', async () => {
      const { name } = await makeUser(plinth, root, 'plain');
      done(await root.put('/system/sso/settings', { passwordLogin: false }));
      await plinth.signIn();
      await expect(plinth.signIn(name, PASSWORD)).rejects.toThrow('password sign-in off');
      done(await root.put('/system/sso/settings', { passwordLogin: true }));
    });
  });

  describe('a provider', () => {
    it('is a record of those with the permissions, without its secret', async () => {
      const { session } = await makeUser(plinth, admin, 'outsider');
      expect(await session.get('/system/sso/list')).toMatchObject({ code: 403 });
      const { rows } = done(await admin.get<{ id: number }[]>('/system/sso/list'));
      const shown = rows.find(({ id }) => id === made.id);
      expect(shown).toMatchObject({
        issuer: provider.url,
        hasSecret: true,
        redirectUri: `${plinth.url}/auth/sso/${made.publicId}/callback`,
      });
      expect(JSON.stringify(rows)).not.toContain(CLIENT_SECRET);
    });

    it('keeps the issuer of users who have signed in', async () => {
      const issuer = 'https://login.example.com';
      await signIn();
      expect(await admin.put('/system/sso', { id: made.id, issuer })).toMatchObject({ code: 409 });
      const fresh = await connectProvider(admin, provider);
      expect(await admin.put('/system/sso', { id: fresh.id, issuer })).toMatchObject({ code: 400 });
      done(await admin.put('/system/sso', { id: fresh.id, issuer, clientSecret: 'another-one' }));
      done(await admin.delete(`/system/sso/${fresh.id}`));
    });

    it('gives no role that its administrator lacks, and never superadmin', async () => {
      const perms = ['list', 'query', 'add', 'edit', 'remove'].map((one) => `system:sso:${one}`);
      const { session } = await makeUser(plinth, admin, 'sso-admin', [
        await makeRole(admin, 'sso-admin', perms),
      ]);
      const body = { name: 'X', issuer: provider.url, clientId: 'x' };
      const roleMapping = [{ value: '*', roleId: roles['staff'] }];
      expect(await session.post('/system/sso', { ...body, roleMapping })).toMatchObject({
        code: 403,
      });
      expect(await session.put('/system/sso', { id: made.id, name: 'Mine' })).toMatchObject({
        code: 403,
      });
      const { rows } = done(
        await root.get<{ roleId: number; roleKey: string }[]>('/system/role/list'),
      );
      const roleId = rows.find(({ roleKey }) => roleKey === 'superadmin')?.roleId;
      const top = { ...body, roleMapping: [{ value: '*', roleId }] };
      expect(await root.post('/system/sso', top)).toMatchObject({ code: 409 });
    });

    it('keeps a mapped role that was deleted, which gives nothing', async () => {
      const roleId = await makeRole(admin, 'short-lived', ['system:model:list']);
      const roleMapping = [
        { value: 'staff', roleId: roles['staff'] },
        { value: '*', roleId },
      ];
      const own = await connectProvider(admin, provider, { groupsClaim: 'groups', roleMapping });
      done(await admin.delete(`/system/role/${roleId}`));
      const change = (fields: object) => admin.put('/system/sso', { id: own.id, ...fields });

      done(await change({ name: 'Renamed' }));
      // As consoles send it.
      done(await change({ name: 'Renamed', roleMapping }));
      const other = await makeRole(admin, 'never-mapped', ['system:model:list']);
      done(await admin.delete(`/system/role/${other}`));
      const added = [...roleMapping, { value: 'new', roleId: other }];
      expect(await change({ roleMapping: added })).toMatchObject({ code: 404 });

      somebody({ groups: ['staff'] });
      const session = await new SsoBrowser(plinth).signIn(own.publicId);
      expect(done(await session.get<Me>(ME)).data.roles).toEqual(['staff']);
      done(await change({ status: '1' }));
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      done(await admin.delete(`/system/sso/${own.id}`));
    });

    it('is tested step by step', async () => {
      interface Found {
        readonly ok: boolean;
        readonly advice: string;
        readonly steps: { readonly step: string; readonly ok: boolean }[];
      }
      const test = async (id: number): Promise<Found> =>
        done(await admin.post<Found>(`/system/sso/${id}/test`)).data;
      expect(await test(made.id)).toMatchObject({
        ok: true,
        steps: [
          ...['address', 'discovery', 'endpoints', 'keys'].map((step) => ({ step, ok: true })),
          { step: 'client', ok: true, detail: 'Client id and secret are right.' },
          { step: 'groups', ok: true },
        ],
      });
      const wrong = await connectProvider(admin, provider, { clientSecret: 'another-secret' });
      const secret = await test(wrong.id);
      expect(secret.ok).toBe(false);
      expect(secret.steps.at(-1)).toMatchObject({ step: 'client', ok: false });
      const issuer = `${provider.url}/realms/none`;
      const clientSecret = CLIENT_SECRET;
      done(await admin.put('/system/sso', { id: wrong.id, issuer, clientSecret }));
      const realm = await test(wrong.id);
      expect(realm.steps.at(-1)).toMatchObject({ step: 'discovery', ok: false });
      expect(realm.advice).toContain('The provider answered HTTP 404.');
      provider.isDown = true;
      expect((await test(made.id)).steps.at(-1)).toMatchObject({ step: 'discovery', ok: false });
      provider.isDown = false;
      done(await admin.delete(`/system/sso/${wrong.id}`));
    });

    it('has its secrets encrypted again after a change of the key', async () => {
      const rows = plinth.app.get(SsoRepository);
      const inOwn = <T>(work: () => Promise<T>): Promise<T> => inTenant(TENANT, work);
      const stored = () => inOwn(() => rows.providers.get(TENANT, made.id));
      const before = await stored();
      await sealedUnder(plinth, { SECRET_KEY: NEXT_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY }).renew();
      expect((await stored()).clientSecret).not.toBe(before.clientSecret);
      await sealedUnder(plinth, { SECRET_KEY, SECRET_KEY_PREVIOUS: NEXT_KEY }).renew();
      await signIn();
    });

    it('refuses sign-ins and keeps refresh tokens that no key of this process opens', async () => {
      const inOwn = <T>(work: () => Promise<T>): Promise<T> => inTenant(TENANT, work);
      const rows = plinth.app.get(SsoRepository);
      const { me } = await signIn();
      const { userId } = me.user;
      // Not used before: this process keeps the secrets of providers that it has opened.
      const unopened = await connectProvider(admin, provider);
      const identity = () => inOwn(() => rows.identities.findOne(TENANT, { userId }));
      await sealedUnder(plinth, { SECRET_KEY: NEXT_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY }).renew();
      try {
        const sealed = await identity();
        expect(sealed?.refreshToken).toEqual(expect.any(String));
        // Two checks later the token is as it was.
        for (let check = 0; check < 2; check += 1) {
          const before = (await identity())?.checkedTime;
          await eventually(
            async () => (await identity())?.checkedTime,
            (checked) => String(checked) !== String(before),
          );
        }
        expect((await identity())?.refreshToken).toBe(sealed?.refreshToken);
        somebody();
        expect((await new SsoBrowser(plinth).land(unopened.publicId)).refusal).toBe('secret-key');
      } finally {
        await sealedUnder(plinth, { SECRET_KEY, SECRET_KEY_PREVIOUS: NEXT_KEY }).renew();
        done(await admin.delete(`/system/sso/${unopened.id}`));
      }
      const { refreshes } = provider;
      await eventually(
        () => provider.refreshes,
        (count) => count > refreshes,
      );
    });

    it('ends its sign-ins when it is disabled, also one that is not finished', async () => {
      const { session } = await signIn();
      const browser = new SsoBrowser(plinth);
      const { code } = await browser.land(made.publicId);
      done(await admin.put('/system/sso', { id: made.id, status: '1' }));
      expect(await session.get(ME)).toMatchObject({ code: 401 });
      expect(await browser.exchange(code)).toMatchObject({
        code: 500,
        msg: expect.stringContaining('does not exist or is disabled'),
      });
      expect((await new SsoBrowser(plinth).land(made.publicId)).refusal).toBe('provider');
      done(await admin.put('/system/sso', { id: made.id, status: '0' }));
    });
  });
});

describe('addresses of providers', () => {
  it('follow the rules for addresses, and need TLS outside of the own network', async () => {
    const plinth = await Plinth.start({ ALLOW_PRIVATE_MODEL_HOSTS: '10.0.0.0/8' });
    const provider = await OidcProvider.start();
    try {
      const root = await plinth.signIn();
      const create = (issuer: string, draft?: string) =>
        root.post<number>('/system/sso', { name: 'X', clientId: 'x', issuer, draft });
      for (const issuer of [
        provider.url,
        'http://login.example.com',
        'https://169.254.169.254',
        'ftp://login.example.com',
        'https://login.example.com/?a=b',
        'none',
      ]) {
        expect(await create(issuer)).toMatchObject({ code: 400 });
      }
      done(await create('https://login.example.com'));
      done(await create('http://10.1.2.3/realms/a'));

      // They can be registered at the provider before it is created here, and belong to one.
      type Draft = Record<'draft' | 'redirectUri' | 'backchannelLogoutUri', string>;
      const { draft, ...addresses } = done(await root.get<Draft>('/system/sso/draft')).data;
      const { data: id } = done(await create('https://login.example.org', draft));
      expect((await root.get(`/system/sso/${id}`)).data).toMatchObject(addresses);
      expect(await create('https://login.example.net', draft)).toMatchObject({ code: 409 });
    } finally {
      await plinth.stop();
      await provider.stop();
    }
  });
});
