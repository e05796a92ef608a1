import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SecondFactorService } from '../../../src/identity/index.js';
import { systemCaller, TenantRevision } from '../../../src/platform/access/index.js';
import { SecondFactorRepository } from '../../../src/identity/second-factor/second-factor.repository.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { done, makeRole, makeUser, PASSWORD } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import type { Answer } from '../../support/session.js';
import { OneTimeCodes } from '../../support/second-factor.js';
import { sealedUnder } from '../../support/secret-keys.js';
import { SECRET_KEY, WEB_CLIENT } from '../../support/template.js';

const PROFILE = '/system/user/profile/second-factor';
const STEP = '/auth/login/second-factor';
const NEXT_KEY = 'another-test-key-of-at-least-32-characters';
const run = Date.now().toString(36);

interface Step {
  readonly errorCode: string;
  readonly challenge: string;
  readonly kinds: string[];
}

interface Enrolment {
  readonly challenge: string;
  readonly secret: string;
  readonly address: string;
}

interface Login {
  readonly access_token: string;
  readonly recoveryCodes: string[];
}

let plinth: Plinth;
let root: Session;

beforeAll(async () => {
  plinth = await Plinth.start();
  root = await plinth.signIn();
});
afterAll(() => plinth.stop());

const login = (username: string, password = PASSWORD): Promise<Answer<Step>> =>
  plinth.anonymous().post('/auth/login', {
    tenantId: '000000',
    username,
    password,
    clientId: WEB_CLIENT,
    grantType: 'password',
  });
const prove = (challenge: string, code: string): Promise<Answer<Step & Login>> =>
  plinth.anonymous().post(STEP, { challenge, code });
const sessionOf = ({ access_token: token }: Login): Session =>
  new Session(plinth.url, { authorization: `Bearer ${token}`, clientid: WEB_CLIENT });

/** Adds an authenticator app to the account. */
async function addApp({ session }: Pick<Person, 'session'>) {
  const { data } = done(
    await session.post<Enrolment>(PROFILE, { kind: 'totp', password: PASSWORD }),
  );
  const app = new OneTimeCodes(data.secret);
  const confirmation = { challenge: data.challenge, code: app.next(), name: 'Phone' };
  const confirmed = done(
    await session.post<{ recoveryCodes: string[] | null }>(`${PROFILE}/confirm`, confirmation),
  );
  return { app, recoveryCodes: confirmed.data.recoveryCodes ?? [] };
}

async function auditOf(name: string) {
  return plinth.app.get(Database).query<{ action: string; detail: Record<string, unknown> }>(
    `SELECT a.action, a.detail FROM audit_entry a
      WHERE a.tenant_id = '000000' AND (a.actor_name = $1 OR a.target_id =
        (SELECT id::text FROM user_account WHERE tenant_id = '000000' AND user_name = $1))
        AND (a.detail ? 'secondFactor' OR a.detail ->> 'reason' = 'second-factor') ORDER BY a.id`,
    [name],
  );
}

describe('an authenticator app', () => {
  it('acts after its first code is confirmed, and not before', async () => {
    const name = `enrolling-${run}`;
    const user = await makeUser(plinth, root, name);
    expect(await user.session.post(PROFILE, { kind: 'totp', password: 'guess' })).toMatchObject({
      code: 400,
    });
    expect(await user.session.post(PROFILE, { kind: 'totp' })).toMatchObject({
      code: 400,
      msg: 'Enter your password or a code of your second factor.',
    });
    const { data } = done(
      await user.session.post<Enrolment>(PROFILE, { kind: 'totp', password: PASSWORD }),
    );
    expect(data.address).toContain(`otpauth://totp/Plinth:${name}?`);
    expect(data.address).toContain(`secret=${data.secret}`);
    expect(await login(name)).toMatchObject({ code: 200 });

    const app = new OneTimeCodes(data.secret);
    const wrong = await user.session.post<Step>(`${PROFILE}/confirm`, {
      challenge: data.challenge,
      code: app.wrong(),
    });
    expect(wrong).toMatchObject({ code: 400, data: { errorCode: 'SECOND_FACTOR_WRONG' } });
    expect(await login(name)).toMatchObject({ code: 200 });
    // Each challenge is for one attempt; the app goes on with the next one.
    const confirmation = { challenge: data.challenge, code: app.next() };
    expect(await user.session.post(`${PROFILE}/confirm`, confirmation)).toMatchObject({
      code: 500,
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
    const retry = { ...confirmation, challenge: wrong.data.challenge };
    const confirmed = done(
      await user.session.post<{ recoveryCodes: string[] }>(`${PROFILE}/confirm`, retry),
    );
    expect(new Set(confirmed.data.recoveryCodes).size).toBe(10);
    for (const code of confirmed.data.recoveryCodes) {
      expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    }
    expect(await login(name)).toMatchObject({
      code: 500,
      msg: 'Your user has a second factor. Enter its code. If this client does not ask for one, sign in at the console of this service.',
      data: { errorCode: 'SECOND_FACTOR_REQUIRED', kinds: ['totp', 'recovery'], expiresIn: 600 },
    });
    expect(done(await user.session.get(PROFILE)).data).toMatchObject({
      factors: [{ kind: 'totp', name: 'Authenticator app', lastUsedTime: null }],
      recoveryCodes: 10,
      required: false,
    });
  });

  it('takes an enrolment only from the sign-in that has begun it', async () => {
    const user = await makeUser(plinth, root, `elsewhere-${run}`);
    const { data } = done(
      await user.session.post<Enrolment>(PROFILE, { kind: 'totp', password: PASSWORD }),
    );
    const code = new OneTimeCodes(data.secret).next();
    const other = await plinth.signIn(user.name, PASSWORD);
    expect(
      await other.post(`${PROFILE}/confirm`, { challenge: data.challenge, code }),
    ).toMatchObject({ code: 500, data: { errorCode: 'SECOND_FACTOR_EXPIRED' } });
  });

  it('signs in with a code, once', async () => {
    const user = await makeUser(plinth, root, `stepping-${run}`);
    const { app } = await addApp(user);
    const first = await login(user.name);
    const code = app.next();
    const signedIn = done(await prove(first.data.challenge, code));
    expect(await sessionOf(signedIn.data).get('/system/user/getInfo')).toMatchObject({ code: 200 });
    // Neither the challenge nor the code is accepted again.
    expect(await prove(first.data.challenge, app.next())).toMatchObject({
      code: 500,
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
    const second = await login(user.name);
    const replayed = await prove(second.data.challenge, code);
    expect(replayed).toMatchObject({
      code: 500,
      data: { errorCode: 'SECOND_FACTOR_WRONG', kinds: ['totp', 'recovery'] },
    });
    expect(replayed.data.challenge).not.toBe(second.data.challenge);
    expect(await auditOf(user.name)).toMatchObject([
      { action: 'update', detail: { secondFactor: 'added', kind: 'totp' } },
      { action: 'login', detail: { secondFactor: 'totp' } },
      { action: 'login-failed', detail: { reason: 'second-factor' } },
    ]);
  });

  it('accepts a code that many send at once for one of them', async () => {
    const user = await makeUser(plinth, root, `racing-${run}`);
    const { app } = await addApp(user);
    const steps = await Promise.all([1, 2, 3].map(() => login(user.name)));
    const code = app.next();
    const answers = await Promise.all(steps.map(({ data }) => prove(data.challenge, code)));
    expect(answers.filter(({ code: answer }) => answer === 200)).toHaveLength(1);
  });

  it('tells nobody of it before the password is right', async () => {
    const user = await makeUser(plinth, root, `silent-${run}`);
    await addApp(user);
    const wrong = { code: 500, msg: 'The user name or the password is wrong.', data: null };
    expect(await login(user.name, 'guess')).toEqual(wrong);
    expect(await login(`unknown-${run}`, 'guess')).toEqual(wrong);
  });

  it('locks the account after five wrong codes, which right passwords between them do not reset', async () => {
    const user = await makeUser(plinth, root, `guessed-${run}`);
    const { app } = await addApp(user);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { data } = await login(user.name);
      expect(await prove(data.challenge, app.wrong())).toMatchObject({
        data: { errorCode: 'SECOND_FACTOR_WRONG' },
      });
    }
    const locked = {
      code: 500,
      msg: 'Too many wrong passwords or codes for this user. Wait 600 seconds, then try again.',
    };
    expect(await login(user.name)).toMatchObject(locked);
    done(await root.get(`/monitor/logininfor/unlock/${user.name}`));
    const { data } = await login(user.name);
    expect(await prove(data.challenge, app.next())).toMatchObject({ code: 200 });
  });

  it('refuses a challenge after the password has changed, and for a disabled user', async () => {
    const user = await makeUser(plinth, root, `changed-${run}`);
    const { app } = await addApp(user);
    const { data } = await login(user.name);
    done(await root.put('/system/user/resetPwd', { userId: user.id, password: 'another-1' }));
    expect(await prove(data.challenge, app.next())).toMatchObject({
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
    const again = await login(user.name, 'another-1');
    done(await root.put('/system/user/changeStatus', { userId: user.id, status: '1' }));
    expect(await prove(again.data.challenge, app.next())).toMatchObject({
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
  });
});

describe('recovery codes', () => {
  it('work once each, in any spelling, and are stored as digests', async () => {
    const user = await makeUser(plinth, root, `recovering-${run}`);
    const { recoveryCodes } = await addApp(user);
    const [code = ''] = recoveryCodes;
    const first = await login(user.name);
    const spelled = code.toUpperCase().replaceAll('-', ' ');
    expect(await prove(first.data.challenge, spelled)).toMatchObject({ code: 200 });
    const second = await login(user.name);
    expect(await prove(second.data.challenge, code)).toMatchObject({ code: 500 });
    expect(done(await user.session.get(PROFILE)).data).toMatchObject({ recoveryCodes: 9 });
    const rows = await plinth.app
      .get(Database)
      .query(`SELECT digest FROM recovery_code WHERE tenant_id = '000000' AND user_id = $1`, [
        user.id,
      ]);
    for (const one of recoveryCodes) {
      expect(JSON.stringify(rows)).not.toContain(one.replaceAll('-', ''));
    }
  });

  it('are of the user alone, and replaced by new ones', async () => {
    const user = await makeUser(plinth, root, `renewing-${run}`);
    const other = await makeUser(plinth, root, `bystanding-${run}`);
    const { recoveryCodes } = await addApp(user);
    await addApp(other);
    const { data } = await login(other.name);
    expect(await prove(data.challenge, recoveryCodes[0] ?? '')).toMatchObject({ code: 500 });

    const renewed = done(
      await user.session.post<{ recoveryCodes: string[] }>(`${PROFILE}/recovery`, {
        code: recoveryCodes[1],
      }),
    ).data.recoveryCodes;
    expect(renewed).toHaveLength(10);
    const step = await login(user.name);
    const refused = await prove(step.data.challenge, recoveryCodes[2] ?? '');
    expect(refused).toMatchObject({ code: 500 });
    expect(await prove(refused.data.challenge, renewed[0] ?? '')).toMatchObject({ code: 200 });
  });
});

describe('removing second factors', () => {
  it('needs the password or a code, and takes the recovery codes with the last one', async () => {
    const user = await makeUser(plinth, root, `removing-${run}`);
    const { app } = await addApp(user);
    const { data } = done(await user.session.get<{ factors: { id: number }[] }>(PROFILE));
    const id = data.factors[0]?.id;
    for (const proof of [{}, { password: 'guess' }, { code: app.wrong() }]) {
      expect(await user.session.post(`${PROFILE}/remove`, { id, ...proof })).toMatchObject({
        code: 400,
      });
    }
    const other = await makeUser(plinth, root, `prying-${run}`);
    expect(await other.session.post(`${PROFILE}/remove`, { id, password: PASSWORD })).toMatchObject(
      { code: 404 },
    );
    done(await user.session.post(`${PROFILE}/remove`, { id, code: app.next() }));
    expect(await login(user.name)).toMatchObject({ code: 200 });
    expect(done(await user.session.get(PROFILE)).data).toMatchObject({
      factors: [],
      recoveryCodes: 0,
    });
  });

  it('is possible for administrators who may change the user, and ends their sign-ins', async () => {
    const clerkRole = await makeRole(root, `clerk-${run}`, ['system:user:edit']);
    const readerRole = await makeRole(root, `reader-${run}`, ['system:user:list']);
    const clerk = await makeUser(plinth, root, `clerk-${run}`, [clerkRole]);
    const reader = await makeUser(plinth, root, `reader-${run}`, [readerRole]);
    const user = await makeUser(plinth, root, `helped-${run}`);
    await addApp(user);
    const path = `/system/user/${user.id}/second-factor`;
    expect(await reader.session.delete(path)).toMatchObject({ code: 403 });
    expect(await clerk.session.delete(`/system/user/${clerk.id}/second-factor`)).toMatchObject({
      code: 403,
    });
    // The clerk lacks permissions of a super administrator.
    expect(await clerk.session.delete('/system/user/1/second-factor')).toMatchObject({ code: 403 });
    done(await clerk.session.delete(path));
    expect(await user.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    expect(await login(user.name)).toMatchObject({ code: 200 });
    expect((await auditOf(user.name)).at(-1)).toMatchObject({
      action: 'update',
      detail: { secondFactor: 'removed', kinds: ['totp'] },
    });
  });

  it('is possible for the operator, by name', async () => {
    const user = await makeUser(plinth, root, `locked-out-${run}`);
    await addApp(user);
    await inTenant('000000', async () => {
      const revision = await plinth.app.get(TenantRevision).current('000000');
      const caller = systemCaller('000000', revision);
      await plinth.app.get(SecondFactorService).removeAllOf(caller, user.name);
    });
    expect(await login(user.name)).toMatchObject({ code: 200 });
  });
});

describe('a role that requires a second factor', () => {
  it('lets its users do nothing but enrol at the next sign-in', async () => {
    const roleId = await makeRole(root, `careful-${run}`, []);
    const user = await makeUser(plinth, root, `careful-${run}`, [roleId]);
    const set = { roleId, secondFactor: 'required' };
    done(await root.put('/system/role', set));
    const { data: role } = done(await root.get<object>(`/system/role/${roleId}`));
    expect(role).toMatchObject({ secondFactor: 'required' });
    // Sign-ins that are open stay open.
    expect(done(await user.session.get(PROFILE)).data).toMatchObject({ required: true });

    const step = await login(user.name);
    expect(step).toMatchObject({
      code: 500,
      data: { errorCode: 'SECOND_FACTOR_ENROLMENT_REQUIRED', kinds: ['totp'] },
    });
    // The challenge opens nothing.
    expect(await prove(step.data.challenge, '123456')).toMatchObject({
      data: { errorCode: 'SECOND_FACTOR_EXPIRED' },
    });
    const bearer = new Session(plinth.url, {
      authorization: `Bearer ${step.data.challenge}`,
      clientid: WEB_CLIENT,
    });
    expect(await bearer.get('/system/user/getInfo')).toMatchObject({ code: 401 });

    const { challenge } = (await login(user.name)).data;
    const enrolment = done(
      await plinth.anonymous().post<Enrolment>(`${STEP}/enrol`, { challenge, kind: 'totp' }),
    ).data;
    const app = new OneTimeCodes(enrolment.secret);
    const confirm = (token: string, code: string): Promise<Answer<Step & Login>> =>
      plinth.anonymous().post(`${STEP}/confirm`, { challenge: token, code });
    const wrong = await confirm(enrolment.challenge, app.wrong());
    expect(wrong).toMatchObject({ code: 400, data: { errorCode: 'SECOND_FACTOR_WRONG' } });
    const signedIn = done(await confirm(wrong.data.challenge, app.next())).data;
    expect(signedIn.recoveryCodes).toHaveLength(10);
    const session = sessionOf(signedIn);
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 200 });

    const { data } = done(await session.get<{ factors: { id: number }[] }>(PROFILE));
    const last = { id: data.factors[0]?.id, password: PASSWORD };
    expect(await session.post(`${PROFILE}/remove`, last)).toMatchObject({ code: 409 });
    expect(await login(user.name)).toMatchObject({ data: { errorCode: 'SECOND_FACTOR_REQUIRED' } });

    done(await root.put('/system/role', { roleId, secondFactor: 'optional' }));
    done(await session.post(`${PROFILE}/remove`, last));
    expect(await login(user.name)).toMatchObject({ code: 200 });
  });

  it('asks nothing of its users while it is disabled', async () => {
    const roleId = await makeRole(root, `paused-${run}`, []);
    await makeUser(plinth, root, `paused-${run}`, [roleId]);
    done(await root.put('/system/role', { roleId, secondFactor: 'required' }));
    done(await root.put('/system/role/changeStatus', { roleId, status: '1' }));
    expect(await login(`paused-${run}`)).toMatchObject({ code: 200 });
  });
});

describe('secrets of authenticator apps', () => {
  it('are encrypted, and with the new key after it has changed', async () => {
    const user = await makeUser(plinth, root, `rotated-${run}`);
    const { app } = await addApp(user);
    const rows = plinth.app.get(SecondFactorRepository, { strict: false });
    const stored = async (): Promise<string> => {
      const [factor] = await inTenant('000000', () => rows.of('000000', user.id));
      return factor?.secret ?? '';
    };
    const before = await stored();
    expect(before).not.toContain(app.secret);
    const rotate = (from: string, to: string): Promise<number> =>
      sealedUnder(plinth, { SECRET_KEY: to, SECRET_KEY_PREVIOUS: from }).renew();
    await rotate(SECRET_KEY, NEXT_KEY);
    expect(await stored()).not.toBe(before);
    await rotate(NEXT_KEY, SECRET_KEY);
    const { data } = await login(user.name);
    expect(await prove(data.challenge, app.next())).toMatchObject({ code: 200 });
  });
});
