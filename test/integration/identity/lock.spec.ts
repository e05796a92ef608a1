import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { PASSWORD_LIMITS } from '../../../src/identity/password/passwords.js';
import { Database } from '../../../src/platform/database/index.js';
import { ClientRepository } from '../../../src/identity/client/client.repository.js';
import { LoginSessionService } from '../../../src/identity/login-session/login-session.service.js';
import { Passwords } from '../../../src/identity/password/passwords.js';
import { UserRepository } from '../../../src/identity/user/user.repository.js';
import { done, makeUser, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { WEB_CLIENT } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const WRONG = { code: 500, msg: 'The user name or the password is wrong.', data: null };
const LOCKED = {
  code: 500,
  msg: 'Too many wrong passwords or codes for this user. Wait 600 seconds, then try again.',
  data: null,
};

const bodyOf = (username: string, password: string) => ({
  tenantId: '000000',
  username,
  password,
  clientId: WEB_CLIENT,
  grantType: 'password',
});

/** With Redis the locks of earlier runs are still there. */
const run = Date.now().toString(36);

describe('guessing passwords', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  const login = (username: string, password: string, from: Record<string, string> = {}) =>
    new Session(plinth.url, from).post('/auth/login', bodyOf(username, password));

  it('locks a name after five failures, whatever its case, and counts each name for itself', async () => {
    await makeUser(plinth, root, `victim-${run}`);
    await makeUser(plinth, root, `bystander-${run}`);
    for (const name of ['victim', 'VICTIM', 'Victim', 'vIctim', 'victim']) {
      expect(await login(`${name}-${run}`, 'guess')).toEqual(WRONG);
    }
    expect(await login(`victim-${run}`, PASSWORD)).toEqual(LOCKED);
    expect(await login(`VICTIM-${run}`, 'guess')).toEqual(LOCKED);
    expect(await login(`bystander-${run}`, PASSWORD)).toMatchObject({ code: 200 });
  });

  it('counts every spelling that the database takes for the name as the same user', async () => {
    await makeUser(plinth, root, `minimi-${run}`);
    // PostgreSQL folds \u0130 to i; JavaScript folds it to i and a combining dot.
    const names = ['m\u0130nimi', 'min\u0130mi', 'minim\u0130', 'm\u0130n\u0130mi', 'MINIMI'];
    for (const name of names) expect(await login(`${name}-${run}`, 'guess')).toEqual(WRONG);
    for (const name of ['minimi', 'm\u0130nim\u0130']) {
      expect(await login(`${name}-${run}`, PASSWORD)).toEqual(LOCKED);
    }
  });

  it('counts the spellings of a name that nobody has by the rules of the database as well', async () => {
    for (const name of ['nI', 'n\u0130', 'ni', 'NI', 'N\u0130']) {
      expect(await login(`${name}-nobody-${run}`, 'guess')).toEqual(WRONG);
    }
    expect(await login(`n\u0130-nobody-${run}`, 'guess')).toEqual(LOCKED);
  });

  it('treats a name that nobody has just the same', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await login(`no-such-user-${run}`, 'guess')).toEqual(WRONG);
    }
    expect(await login(`no-such-user-${run}`, 'guess')).toEqual(LOCKED);
  });

  it('does not let many tries at once slip past the lock', async () => {
    await makeUser(plinth, root, `flooded-${run}`);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => login(`flooded-${run}`, `guess-${n}`)),
    );
    expect(answers.filter(({ msg }) => msg === WRONG.msg)).toHaveLength(5);
    expect(answers.filter(({ msg }) => msg === LOCKED.msg)).toHaveLength(15);
  });

  it('starts counting again after a success', async () => {
    await makeUser(plinth, root, `clumsy-${run}`);
    for (let round = 0; round < 2; round += 1) {
      for (let attempt = 0; attempt < 4; attempt += 1) {
        expect(await login(`clumsy-${run}`, 'guess')).toEqual(WRONG);
      }
      expect(await login(`clumsy-${run}`, PASSWORD)).toMatchObject({ code: 200 });
    }
  });

  it('counts wrong old passwords too, and unlocks by a reset', async () => {
    const user = await makeUser(plinth, root, `hijacked-${run}`);
    const body = { oldPassword: 'guess', newPassword: 'another-one' };
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await user.session.put('/system/user/profile/updatePwd', body)).toMatchObject({
        code: 400,
      });
    }
    const right = { oldPassword: PASSWORD, newPassword: 'another-one' };
    expect(await user.session.put('/system/user/profile/updatePwd', right)).toEqual(LOCKED);
    expect(await login(`hijacked-${run}`, PASSWORD)).toEqual(LOCKED);
    const reset = { userId: user.id, password: 'given-anew' };
    done(await root.put('/system/user/resetPwd', reset));
    expect(await login(`hijacked-${run}`, 'given-anew')).toMatchObject({ code: 200 });
  });

  it('answers disabled and unknown users in the same words, after the same work', async () => {
    const user = await makeUser(plinth, root, `disabled-one-${run}`);
    done(await root.put('/system/user/changeStatus', { userId: user.id, status: '1' }));
    expect(await login(`disabled-one-${run}`, PASSWORD)).toEqual(WRONG);
    await makeUser(plinth, root, `enabled-${run}`);
    // One verification of a password each: it takes nearly all of the time of a sign-in.
    const verifications = jest.spyOn(plinth.app.get(Passwords).queue, 'run');
    for (const name of [`enabled-${run}`, `unheard-of-${run}`, `disabled-one-${run}`]) {
      verifications.mockClear();
      expect(await login(name, 'guess')).toEqual(WRONG);
      expect(verifications).toHaveBeenCalledTimes(1);
    }
  });

  it('opens no sign-in with a password that was changed in the meantime', async () => {
    const made = await makeUser(plinth, root, `late-${run}`);
    const user = await plinth.app.get(UserRepository).byName('000000', made.name);
    const client = await plinth.app.get(ClientRepository).byClientId(WEB_CLIENT);
    if (!user || !client) throw new Error('The user and the client are missing.');
    done(await root.put('/system/user/resetPwd', { userId: made.id, password: 'given-anew-2' }));
    const opening = plinth.app
      .get(LoginSessionService)
      .open(user, client, { ip: undefined, userAgent: undefined });
    await expect(opening).rejects.toThrow(WRONG.msg);
    expect((await root.get(`/monitor/online/list?userName=${made.name}`)).total).toBe(0);
  });

  it('ends for every address when an administrator unlocks the user, whatever the case of the name', async () => {
    const { name, id } = await makeUser(plinth, root, `unlocked-${run}`);
    const failFive = async (typed: string): Promise<void> => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(await login(typed, 'guess')).toEqual(WRONG);
      }
    };
    await failFive(name.toUpperCase());
    expect(await login(name, PASSWORD)).toEqual(LOCKED);
    // Wrong passwords of others, whose names contain this one, are more than the log is read for.
    await plinth.app.get(Database).query(
      `INSERT INTO audit_entry (tenant_id, actor_name, action, target_type, ip)
       SELECT '000000', $1 || i, 'login-failed', 'user', '192.0.2.1' FROM generate_series(1, 1001) AS i`,
      [name],
    );

    expect(await root.get('/monitor/logininfor/unlock/nobody-at-all')).toMatchObject({ code: 404 });
    const clerk = await makeUser(plinth, root, `clerk-${run}`);
    const path = `/monitor/logininfor/unlock/${name.toUpperCase()}`;
    expect(await clerk.session.get(path)).toMatchObject({ code: 403 });
    expect(await login(name, PASSWORD)).toEqual(LOCKED);

    done(await root.get(path));
    expect(await login(name, PASSWORD)).toMatchObject({ code: 200 });
    // Its wrong passwords are forgotten, too: it takes as many as before.
    await failFive(name);
    expect(await login(name, PASSWORD)).toEqual(LOCKED);
    const { rows } = await root.get<object[]>(
      `/monitor/audit/list?targetType=user&targetId=${id}&action=update`,
    );
    expect(rows).toMatchObject([{ detail: { unlocked: true } }]);
  });

  it('writes failures and successes to the audit log, without what was typed as password', async () => {
    const user = await makeUser(plinth, root, `watched-${run}`);
    await login(`Watched-${run}`, 'guess-of-somebody');
    const entries = await plinth.app.get(Database).query(
      `SELECT action, actor_id AS "actorId", actor_name AS "actorName", ip FROM audit_entry
        WHERE tenant_id = '000000' AND lower(actor_name) = $1 ORDER BY id`,
      [`watched-${run}`],
    );
    expect(entries).toEqual([
      { action: 'login', actorId: user.id, actorName: `watched-${run}`, ip: '127.0.0.1' },
      { action: 'login-failed', actorId: null, actorName: `Watched-${run}`, ip: '127.0.0.1' },
    ]);
    const log = await root.raw('GET', '/monitor/audit/list');
    expect(log.text).not.toContain('guess-of-somebody');
  });
});

describe('names that the database and JavaScript fold differently', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  it('lets a user change the case of their name and refuses the name of another', async () => {
    const user = await makeUser(plinth, root, 'iris');
    const other = await makeUser(plinth, root, 'i\u0307da');
    await makeUser(plinth, root, 'ida');
    done(await root.put('/system/user', { userId: user.id, userName: '\u0130RIS' }));
    const taken = { userId: other.id, userName: '\u0130da' };
    expect(await root.put('/system/user', taken)).toMatchObject({
      code: 409,
      msg: 'The user name \u0130da is taken. Choose another one.',
    });
  });

  it('erases every spelling of a deleted name from the audit log', async () => {
    const user = await makeUser(plinth, root, 'mimi');
    await plinth.anonymous().post('/auth/login', bodyOf('m\u0130m\u0130', 'guess'));
    const spellings = async () =>
      plinth.app
        .get(Database)
        .query(
          `SELECT id FROM audit_entry WHERE tenant_id = '000000' AND actor_name = 'm\u0130m\u0130'`,
        );
    expect(await spellings()).toHaveLength(1);
    done(await root.delete(`/system/user/${user.id}`));
    expect(await spellings()).toHaveLength(0);
  });
});

describe('limits of sign-ins', () => {
  let plinth: Plinth;
  let root: Session;

  overrideConstants(PASSWORD_LIMITS, { accountFailures: 8, running: 1, waiting: 7 });

  beforeAll(async () => {
    plinth = await Plinth.start({
      TRUST_PROXY: '1',
      LOGIN_ATTEMPTS_PER_MINUTE: '30',
    });
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  const loginFrom = (ip: string, username: string, password: string) =>
    new Session(plinth.url, { 'x-forwarded-for': ip }).raw(
      'POST',
      '/auth/login',
      bodyOf(username, password),
    );
  const envelopeFrom = async (ip: string, username: string, password: string) =>
    JSON.parse((await loginFrom(ip, username, password)).text) as unknown;

  it('locks an account for the address that guesses, and not for its owner', async () => {
    await makeUser(plinth, root, 'owner-1');
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await envelopeFrom('192.0.2.1', 'owner-1', 'guess')).toEqual(WRONG);
    }
    expect(await envelopeFrom('192.0.2.1', 'owner-1', PASSWORD)).toEqual(LOCKED);
    expect(await envelopeFrom('192.0.2.2', 'owner-1', PASSWORD)).toMatchObject({ code: 200 });
  });

  it('takes the addresses of one IPv6 network for one', async () => {
    await makeUser(plinth, root, 'owner-6');
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const ip = `2001:db8:1:2::${attempt + 1}`;
      expect(await envelopeFrom(ip, 'owner-6', 'guess')).toEqual(WRONG);
    }
    expect(await envelopeFrom('2001:db8:1:2::99', 'owner-6', 'guess')).toEqual(LOCKED);
    expect(await envelopeFrom('2001:db8:1:3::1', 'owner-6', PASSWORD)).toMatchObject({ code: 200 });
  });

  it('locks an account that many addresses guess, but for the address of its last sign-in', async () => {
    await makeUser(plinth, root, 'owner-2');
    const home = '198.51.100.7';
    expect(await envelopeFrom(home, 'owner-2', PASSWORD)).toMatchObject({ code: 200 });
    for (let attempt = 0; attempt < 8; attempt += 1) {
      expect(await envelopeFrom(`203.0.113.${attempt + 1}`, 'owner-2', 'guess')).toEqual(WRONG);
    }
    expect(await envelopeFrom('203.0.113.99', 'owner-2', PASSWORD)).toEqual(LOCKED);
    expect(await envelopeFrom(home, 'owner-2', PASSWORD)).toMatchObject({ code: 200 });
  });

  it('ends the locks of every address when the password is reset', async () => {
    const user = await makeUser(plinth, root, 'owner-3');
    for (let attempt = 0; attempt < 8; attempt += 1) {
      await loginFrom(`203.0.113.${attempt + 100}`, 'owner-3', 'guess');
    }
    expect(await envelopeFrom('203.0.113.100', 'owner-3', PASSWORD)).toEqual(LOCKED);
    done(await root.put('/system/user/resetPwd', { userId: user.id, password: 'given-anew' }));
    expect(await envelopeFrom('203.0.113.100', 'owner-3', 'given-anew')).toMatchObject({
      code: 200,
    });
  });

  it('limits the attempts of one address, whatever names it tries, and says when to come back', async () => {
    const ip = '192.0.2.50';
    for (let attempt = 0; attempt < 30; attempt += 1) {
      expect(await envelopeFrom(ip, `sprayed-${attempt}`, 'guess')).toEqual(WRONG);
    }
    const refused = await loginFrom(ip, 'sprayed-30', 'guess');
    expect(JSON.parse(refused.text)).toMatchObject({ code: 429 });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(await envelopeFrom('192.0.2.51', 'sprayed-31', 'guess')).toEqual(WRONG);
  });

  it('refuses sign-ins with 429 and Retry-After while too many passwords wait, and recovers', async () => {
    const { queue } = plinth.app.get(Passwords);
    let end = (): void => undefined;
    const gate = new Promise<void>((resolve) => (end = resolve));
    const held = Array.from({ length: 8 }, () => queue.run(undefined, () => gate));
    const refused = await loginFrom('192.0.2.60', 'patient', 'guess');
    expect(JSON.parse(refused.text)).toEqual({
      code: 429,
      msg: 'Too many sign-ins at the same time. Try again in 1 second.',
      data: null,
    });
    expect(refused.headers['retry-after']).toBe('1');
    end();
    await Promise.all(held);
    expect(await envelopeFrom('192.0.2.60', 'patient', 'guess')).toEqual(WRONG);
  });

  it('answers other requests during 200 sign-ins at the same time, and lets no more wait than fit', async () => {
    const { queue } = plinth.app.get(Passwords);
    let end = (): void => undefined;
    const gate = new Promise<void>((resolve) => (end = resolve));
    const held = queue.run(undefined, () => gate);
    const codes: unknown[] = [];
    const all = Array.from({ length: 200 }, async (_, n) => {
      const answer = await envelopeFrom(`198.18.0.${n}`, `flood-${n}`, 'guess');
      codes.push((answer as { code: number }).code);
    });
    await eventually(
      () => codes.length,
      (count) => count >= 193,
    );
    expect(codes).toEqual(Array.from({ length: 193 }, () => 429));
    expect(await root.get('/system/role/list')).toMatchObject({ code: 200 });
    end();
    await Promise.all([held, ...all]);
    expect(codes.slice(193)).toEqual(Array.from({ length: 7 }, () => 500));
    expect(await envelopeFrom('198.18.1.1', 'after-the-flood', 'guess')).toEqual(WRONG);
  });
});
