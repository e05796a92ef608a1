import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { SharedRedis } from '../../../src/platform/redis/index.js';
import { CaptchaStore } from '../../../src/identity/sign-in/captcha.js';
import { done, makeTenant, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, WEB_CLIENT } from '../../support/template.js';

interface Choices {
  tenantEnabled: boolean;
  voList: { tenantId: string; companyName: string; domain: string | null }[];
}

/** An address of its own for every start: with Redis the counts of earlier runs are still there. */
async function startElsewhere(
  environment: Record<string, string> = {},
): Promise<{ plinth: Plinth; visitor: Session }> {
  const plinth = await Plinth.start({ TRUST_PROXY: '1', ...environment });
  const ip = `2001:db8::${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}`;
  return { plinth, visitor: new Session(plinth.url, { 'x-forwarded-for': ip }) };
}

const OFF = 'Registration is disabled here. Ask an administrator for an account.';

describe('before signing in', () => {
  let plinth: Plinth;
  let visitor: Session;
  let root: Session;
  let tenant: { id: number; tenantId: string; admin: Session };

  beforeAll(async () => {
    ({ plinth, visitor } = await startElsewhere());
    root = await plinth.signIn();
    tenant = await makeTenant(plinth, root, '602214');
  });
  afterAll(() => plinth.stop());

  it('asks for no captcha', async () => {
    expect((await visitor.get('/auth/code')).data).toEqual({
      captchaEnabled: false,
      uuid: null,
      img: null,
    });
  });

  it('limits how often a captcha is asked for', async () => {
    let answer = await visitor.get('/auth/code');
    for (let tries = 0; answer.code === 200 && tries < 10; tries += 1) {
      answer = await visitor.get('/auth/code');
    }
    expect(answer).toMatchObject({
      code: 429,
      msg: expect.stringMatching(/^Too many requests\. Try again in \d+ seconds\.$/),
    });
  });

  it('offers the tenants one can sign in to', async () => {
    const hidden = await makeTenant(plinth, root, '602215');
    done(await root.put('/system/tenant/changeStatus', { id: hidden.id, status: '1' }));
    done(await root.put('/system/tenant', { id: tenant.id, domain: 'ai.example.com' }));
    const choices = async (session: Session, referer?: string): Promise<string[]> => {
      const { text } = await session.raw('GET', '/auth/tenant/list', undefined, {
        'x-forwarded-for': visitor.headers['x-forwarded-for'] ?? '',
        ...(referer && { referer }),
      });
      const { data } = JSON.parse(text) as { data: Choices };
      expect(data.tenantEnabled).toBe(true);
      return data.voList.map(({ tenantId }) => tenantId);
    };
    const anonymous = visitor;
    expect((await anonymous.get<Choices>('/auth/tenant/list')).data.voList).toEqual([
      { tenantId: '000000', companyName: 'Default', domain: null },
      { tenantId: '602214', companyName: 'Company 602214', domain: 'ai.example.com' },
    ]);
    expect(await choices(anonymous, 'https://AI.example.com:8443/login')).toEqual(['602214']);
    expect(await choices(anonymous, 'https://elsewhere.example.com/')).toEqual([
      '000000',
      '602214',
    ]);
    expect(await choices(anonymous, 'nonsense')).toEqual(['000000', '602214']);
    expect(await choices(tenant.admin)).toEqual(['000000', '602214']);
    expect(await choices(root, 'https://ai.example.com/')).toEqual(['000000', '602214', '602215']);
  });

  describe('registering', () => {
    const register = (change: Record<string, unknown> = {}) =>
      visitor.post('/auth/register', {
        clientId: WEB_CLIENT,
        grantType: 'password',
        tenantId: '602214',
        username: 'jo@example.com',
        password: PASSWORD,
        code: '123456',
        ...change,
      });

    it('is refused where the tenant does not allow it', async () => {
      expect(await register()).toEqual({ code: 500, msg: OFF, data: null });
      expect(await register({ tenantId: '000000' })).toEqual({ code: 500, msg: OFF, data: null });
    });

    it('makes an ordinary user where it does', async () => {
      done(
        await root.put('/system/tenant', { id: tenant.id, registerEnabled: true, accountCount: 2 }),
      );
      expect(await register({ roleIds: [1], status: '1', userType: 'root' })).toEqual({
        code: 200,
        msg: 'Done.',
        data: null,
      });
      const session = await plinth.signIn('jo@example.com', PASSWORD, '602214');
      const info = await session.get<{ user: unknown; roles: string[] }>('/system/user/getInfo');
      expect(info.data).toMatchObject({
        user: { nickName: 'jo@example.com', email: 'jo@example.com', userType: 'sys_user' },
        roles: ['user'],
      });
      expect(await register({ username: 'JO@example.com' })).toMatchObject({ code: 409 });
      expect(await register({ username: 'second' })).toMatchObject({
        code: 409,
        msg: expect.stringContaining('has reached its limit of users'),
      });
    });

    it.each([
      [{ username: 'j' }, 400],
      [{ username: 'x'.repeat(65) }, 400],
      [{ username: 'jo doe' }, 400],
      [{ username: 'jo\u00a0doe' }, 400],
      [{ password: '1234' }, 400],
      [{ password: 'x'.repeat(73) }, 400],
      [{ clientId: 'nobody' }, 500],
    ])('refuses %j', async (change, code) => {
      expect(await register(change)).toMatchObject({ code });
    });
  });
});

describe('with captchas', () => {
  let plinth: Plinth;
  let visitor: Session;

  beforeAll(async () => {
    ({ plinth, visitor } = await startElsewhere({ CAPTCHA: 'on' }));
  });
  afterAll(() => plinth.stop());

  it('draws a PNG and lets nobody in without its answer, which is good for one try', async () => {
    const { data } = await visitor.get<{ captchaEnabled: boolean; uuid: string; img: string }>(
      '/auth/code',
    );
    expect(data.captchaEnabled).toBe(true);
    const picture = Buffer.from(data.img, 'base64');
    expect(picture.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    const login = (uuid: string | null, code: string | null) =>
      visitor.post('/auth/login', {
        clientId: WEB_CLIENT,
        grantType: 'password',
        username: 'admin',
        password: 'whatever',
        uuid,
        code,
      });
    expect(await login(null, null)).toMatchObject({
      code: 500,
      msg: 'The captcha has expired. Load a new one and try again.',
    });
    expect(await login(data.uuid, 'no')).toMatchObject({
      code: 500,
      msg: 'The captcha is wrong. Load a new one and try again.',
    });
    expect(await login(data.uuid, 'no')).toMatchObject({
      code: 500,
      msg: 'The captcha has expired. Load a new one and try again.',
    });
  });

  it('lets in with the answer, in any case, and again not with the same', async () => {
    const { data } = await visitor.get<{ uuid: string }>('/auth/code');
    // As another process of the installation has it.
    const store = new CaptchaStore(plinth.app.get(SharedRedis), plinth.app.get(Database));
    const answer = await store.take(data.uuid);
    expect(answer).toMatch(/^[\da-z]{4}$/);
    await store.keep(data.uuid, answer ?? '');
    const login = () =>
      visitor.post('/auth/login', {
        clientId: WEB_CLIENT,
        grantType: 'password',
        username: 'admin',
        password: ADMIN_PASSWORD,
        uuid: data.uuid,
        code: answer?.toUpperCase(),
      });
    expect(await login()).toMatchObject({ code: 200 });
    expect(await login()).toMatchObject({ code: 500 });
  });
});
