import { request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CallerResolver, OpenStreams } from '../../../src/platform/access/index.js';
import { done, makeRole, makeTenant, makeUser, PASSWORD, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { ADMIN_PASSWORD } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

interface Info {
  user: Record<string, unknown>;
  permissions: string[];
  roles: string[];
  timeZone: string;
}

describe('the own account', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  it('answers getInfo as existing consoles read it', async () => {
    const { data } = await root.get<Info>('/system/user/getInfo');
    expect(data.permissions).toEqual(['*:*:*']);
    expect(data.roles).toEqual(['superadmin']);
    expect(data.timeZone).toBe('UTC');
    expect(data.user).toEqual({
      revision: expect.any(Number),
      userId: expect.any(Number),
      tenantId: '000000',
      openId: null,
      userBalance: 0,
      deptId: 1,
      userName: 'admin',
      nickName: 'admin',
      userType: 'sys_user',
      email: '',
      phonenumber: '',
      sex: '0',
      avatar: null,
      status: '0',
      loginIp: '127.0.0.1',
      loginDate: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      remark: null,
      createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      deptName: 'All users',
      roles: [expect.objectContaining({ roleKey: 'superadmin', superAdmin: true })],
      roleIds: null,
      postIds: null,
      roleId: null,
    });
  });

  it('answers the permissions of all enabled roles, once each', async () => {
    const one = await makeRole(root, 'one', ['system:model:list', 'system:user:list']);
    const two = await makeRole(root, 'two', ['system:model:list', 'system:dict:list']);
    const off = await makeRole(root, 'off', ['system:oss:list']);
    const both = await makeUser(plinth, root, 'both', [one, two, off]);
    done(await root.put('/system/role/changeStatus', { roleId: off, status: '1' }));
    const { data } = await both.session.get<Info>('/system/user/getInfo');
    expect([...data.permissions].sort()).toEqual([
      'system:dict:list',
      'system:model:list',
      'system:user:list',
    ]);
    expect(data.roles).toEqual(['one', 'two']);
  });

  it('answers the menu as a tree of the pages that the caller may list', async () => {
    const { data } = await root.get('/system/menu/getRouters');
    const meta = { title: expect.any(String), icon: expect.any(String), noCache: false };
    expect(data).toEqual([
      {
        name: 'Chat',
        path: '/chat',
        hidden: false,
        redirect: 'noRedirect',
        component: 'Layout',
        alwaysShow: true,
        meta,
        children: [
          expect.objectContaining({ path: 'provider', component: 'chat/provider/index', meta }),
          expect.objectContaining({ path: 'model', component: 'chat/model/index', meta }),
          {
            name: 'ChatMessage',
            path: 'message',
            hidden: false,
            component: 'chat/message/index',
            meta,
          },
        ],
      },
      expect.objectContaining({
        path: '/knowledge',
        children: [
          expect.objectContaining({ name: 'KnowledgeInfo', component: 'knowledge/info/index' }),
          expect.objectContaining({ path: 'attach', component: 'knowledge/attach/index' }),
          expect.objectContaining({ path: 'fragment', component: 'knowledge/fragment/index' }),
        ],
      }),
      expect.objectContaining({
        path: '/agent',
        children: [expect.objectContaining({ name: 'AgentAgent', component: 'agent/agent/index' })],
      }),
      expect.objectContaining({
        path: '/system',
        children: [
          expect.objectContaining({ path: 'user', component: 'system/user/index' }),
          expect.objectContaining({ path: 'role', component: 'system/role/index' }),
          {
            name: 'SystemRoleAuthUserRoleId',
            path: 'role-auth/user/:roleId',
            hidden: true,
            component: 'system/role-assign/index',
            meta,
          },
          ...['dict', 'oss', 'tenant', 'client'].map((path) =>
            expect.objectContaining({ path, hidden: false, component: `system/${path}/index` }),
          ),
        ],
      }),
      expect.objectContaining({
        path: '/monitor',
        children: ['online', 'operlog', 'logininfor'].map((path) =>
          expect.objectContaining({ path, component: `monitor/${path}/index` }),
        ),
      }),
    ]);
    const onlyModels = await makeUser(plinth, root, 'only-models', [
      await makeRole(root, 'only-models', ['system:model:list']),
    ]);
    const narrow =
      await onlyModels.session.get<{ children: { path: string }[] }[]>('/system/menu/getRouters');
    expect(narrow.data[0]?.children.map(({ path }) => path)).toEqual(['model']);
    expect(narrow.data).toHaveLength(1);
    const nobody = await makeUser(plinth, root, 'no-pages');
    expect((await nobody.session.get('/system/menu/getRouters')).data).toEqual([]);
  });

  it('changes the profile and nothing else of oneself', async () => {
    const { session, id } = await makeUser(plinth, root, 'plain');
    done(
      await session.put('/system/user/profile', {
        nickName: 'Plain',
        email: 'p@example.com',
        sex: 1,
        status: '1',
        userName: 'root',
        roleIds: [1],
      }),
    );
    expect((await session.get('/system/user/profile')).data).toMatchObject({
      user: { userId: id, userName: 'plain', nickName: 'Plain', email: 'p@example.com', sex: '1' },
      roleGroup: '',
      postGroup: '',
    });
  });

  it('changes the own password, which ends every other sign-in', async () => {
    const { session, name } = await makeUser(plinth, root, 'careful');
    const elsewhere = await plinth.signIn(name, PASSWORD);
    const change = (oldPassword: string, newPassword: string) =>
      session.put('/system/user/profile/updatePwd', { oldPassword, newPassword });
    expect(await change('not-it', 'renewed-secret-7')).toEqual({
      code: 400,
      msg: 'The old password is wrong.',
      data: null,
    });
    expect(await change(PASSWORD, '1234')).toMatchObject({ code: 400 });
    done(await change(PASSWORD, 'renewed-secret-7'));
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 200 });
    expect(await elsewhere.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    await expect(plinth.signIn(name, PASSWORD)).rejects.toThrow('password is wrong');
    await plinth.signIn(name, 'renewed-secret-7');
  });

  describe('the avatar', () => {
    const image = (content: Uint8Array<ArrayBuffer>, part = 'avatarfile'): FormData => {
      const form = new FormData();
      form.append(part, new Blob([content]), 'me.png');
      return form;
    };
    const png = (length = 64): Uint8Array<ArrayBuffer> => {
      const bytes = new Uint8Array(length);
      bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
      return bytes;
    };
    const path = '/system/user/profile/avatar';

    it('is an image whose address a page can show, in place of the former one', async () => {
      const { session, name } = await makeUser(plinth, root, 'portrait');
      const { data } = done(await session.upload<{ imgUrl: string }>(path, image(png())));
      const shown = await fetch(data.imgUrl);
      expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
      expect(data.imgUrl).toMatch(/\.0\.[\w-]{43}\/avatar\.png$/);

      const avatarIn = { avatar: data.imgUrl };
      expect((await session.get('/system/user/getInfo')).data).toMatchObject({ user: avatarIn });
      expect((await session.get('/system/user/profile')).data).toMatchObject({ user: avatarIn });
      const listed = await root.get<object[]>(`/system/user/list?userName=${name}`);
      expect(listed.rows).toMatchObject([avatarIn]);
      // It is no file of its own.
      expect((await root.get('/resource/oss/list?originalName=me.png')).total).toBe(0);

      const { data: next } = done(await session.upload<{ imgUrl: string }>(path, image(png(65))));
      expect(next.imgUrl).not.toBe(data.imgUrl);
      const former: unknown = await (await fetch(data.imgUrl)).json();
      expect(former).toMatchObject({ code: 404 });
    });

    it('can be removed', async () => {
      const { session } = await makeUser(plinth, root, 'shy');
      const { data } = done(await session.upload<{ imgUrl: string }>(path, image(png())));
      for (const _ of ['there', 'gone']) done(await session.delete(path));
      const gone: unknown = await (await fetch(data.imgUrl)).json();
      expect(gone).toMatchObject({ code: 404 });
      expect((await session.get('/system/user/profile')).data).toMatchObject({
        user: { avatar: null },
      });
    });

    it('goes with its user', async () => {
      const { session, id } = await makeUser(plinth, root, 'leaver');
      const { data } = done(await session.upload<{ imgUrl: string }>(path, image(png())));
      done(await root.delete(`/system/user/${id}`));
      const gone: unknown = await (await fetch(data.imgUrl)).json();
      expect(gone).toMatchObject({ code: 404 });
    });

    it.each([
      ['no image', () => image(new TextEncoder().encode('<svg/>')), 'The file is not a PNG'],
      ['more than 1 MiB', () => image(png(2 ** 20 + 1)), 'larger than 1 MiB'],
      [
        'two images',
        () => {
          const form = image(png());
          form.append('avatarfile', new Blob([png()]), 'other.png');
          return form;
        },
        'more files than one upload may have, which is 1.',
      ],
      ['another part', () => image(png(), 'file'), 'with a part named avatarfile.'],
      ['nothing', () => new FormData(), 'Send one image as `avatarfile`.'],
    ])('is refused: %s', async (_, form, msg) => {
      const { session } = await makeUser(plinth, root, `faceless-${msg.length}`);
      expect(await session.upload(path, form())).toMatchObject({
        code: 400,
        msg: expect.stringContaining(msg),
      });
      const { data } = await session.get<{ user: { avatar: unknown } }>('/system/user/profile');
      expect(data.user.avatar).toBeNull();
    });
  });

  it('shows and ends own sign-ins, and only those', async () => {
    const { session, name } = await makeUser(plinth, root, 'two-devices');
    const phone = await plinth.signIn(name, PASSWORD, '000000', '428a8310cd442757ae699df5d894f051');
    const answer = await session.get<{ tokenId: string; current: boolean }[]>('/monitor/online');
    // The account page of the existing console shows nothing where `data` is there.
    expect(answer).toMatchObject({ code: 200, total: 2 });
    expect(answer).not.toHaveProperty('data');
    const { rows } = answer;
    expect(rows).toHaveLength(2);
    const other = rows.find(({ current }) => !current);
    expect(other).toMatchObject({
      userName: name,
      clientKey: 'app',
      deviceType: 'android',
      ipaddr: '127.0.0.1',
    });
    const rootToken = (await root.get<{ tokenId: string }[]>('/monitor/online')).rows[0]?.tokenId;
    for (const tokenId of [rootToken, 'null', '1', '00000000-0000-0000-0000-000000000000']) {
      expect(await session.delete(`/monitor/online/myself/${tokenId}`)).toEqual({
        code: 404,
        msg: 'The sign-in was not found. It may have been deleted.',
        data: null,
      });
    }
    done(await session.delete(`/monitor/online/myself/${other?.tokenId}`));
    expect(await phone.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    expect(await session.get('/system/user/getInfo')).toMatchObject({ code: 200 });
  });

  it('lets an administrator see and end the sign-ins of the own tenant only', async () => {
    const other = await makeTenant(plinth, root, '271828');
    const worker = await makeUser(plinth, other.admin, 'worker');
    const { rows, total } = await other.admin.get<{ userName: string; tokenId: string }[]>(
      '/monitor/online/list?pageNum=1&pageSize=10',
    );
    expect(total).toBe(2);
    expect(rows.map(({ userName }) => userName).sort()).toEqual(['boss', 'worker']);
    const foreign = (await root.get<{ tokenId: string }[]>('/monitor/online')).rows[0]?.tokenId;
    expect(await other.admin.delete(`/monitor/online/${foreign}`)).toMatchObject({ code: 404 });
    const own = rows.find(({ userName }) => userName === 'worker');
    done(await other.admin.delete(`/monitor/online/${own?.tokenId}`));
    expect(await worker.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    expect((await other.admin.get('/monitor/online/list?userName=WORK')).total).toBe(0);
  });

  describe('the notice channel', () => {
    const inQuery = (session: Session): string =>
      new URLSearchParams({
        Authorization: session.headers['authorization'] ?? '',
        clientid: session.headers['clientid'] ?? '',
      }).toString();

    const open = async (session: Session) => {
      const response = await fetch(`${plinth.url}/resource/sse?${inQuery(session)}`);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      if (!reader) throw new Error('There is no stream.');
      return { response, reader };
    };

    it('opens with the token in the query and carries comments only', async () => {
      const session = await plinth.signIn();
      const { response, reader } = await open(session);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(await reader.read()).toEqual({ done: false, value: ': connected\n\n' });
      expect(await session.get('/resource/sse/close')).toMatchObject({ code: 200 });
      expect(await reader.read()).toEqual({ done: true, value: undefined });
    });

    it('answers the envelope without a sign-in, and close never fails', async () => {
      expect(await plinth.anonymous().get('/resource/sse')).toMatchObject({ code: 401 });
      expect(await plinth.anonymous().get('/resource/sse/close')).toMatchObject({ code: 200 });
      const dead = new Session(plinth.url, { ...root.headers, authorization: 'Bearer nonsense' });
      expect(await dead.get('/resource/sse/close')).toMatchObject({ code: 200 });
    });

    it.each([
      ['signing out', (person: Ended) => person.session.post('/auth/logout')],
      [
        'being disabled',
        (person: Ended) =>
          person.root.put('/system/user/changeStatus', { userId: person.id, status: '1' }),
      ],
      ['being deleted', (person: Ended) => person.root.delete(`/system/user/${person.id}`)],
      [
        'a new password from an administrator',
        (person: Ended) =>
          person.root.put('/system/user/resetPwd', { userId: person.id, password: PASSWORD }),
      ],
      [
        'losing a role',
        (person: Ended) => person.root.put(`/system/user/authRole?userId=${person.id}&roleIds=`),
      ],
    ])('ends with %s', async (what, act) => {
      const name = `sse-${what.replaceAll(' ', '-')}`;
      const { session, id } = await makeUser(plinth, root, name, [await roleId(root, 'user')]);
      const { reader } = await open(session);
      await reader.read();
      done(await act({ session, id, root }));
      expect(await reader.read()).toEqual({ done: true, value: undefined });
    });

    interface Ended {
      session: Session;
      id: number;
      root: Session;
    }
  });

  it('does not open more streams for one user than the limit', async () => {
    const small = await Plinth.start({ CHAT_STREAMS_PER_USER: '1' });
    const session = await small.signIn('admin', ADMIN_PASSWORD);
    const held = await fetch(`${small.url}/resource/sse`, { headers: session.headers });
    const refused = await session.raw('GET', '/resource/sse');
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 429,
      msg: expect.stringContaining('CHAT_STREAMS_PER_USER'),
    });
    expect(refused.headers['retry-after']).toBe('5');
    await held.body?.cancel();
    const streams = small.app.get(OpenStreams);
    await eventually(
      () => streams.size,
      (open) => open === 0,
    );

    // One whose client leaves while the guard waits for the database has no place.
    const resolver = small.app.get(CallerResolver);
    const resolve = resolver.resolve.bind(resolver);
    const guarded = Promise.withResolvers<undefined>();
    const gone = Promise.withResolvers<undefined>();
    jest.spyOn(resolver, 'resolve').mockImplementationOnce(async (...call) => {
      guarded.resolve(undefined);
      await gone.promise;
      return resolve(...call);
    });
    const server = small.app.getHttpServer();
    server.once('connection', (socket: Socket) =>
      socket.once('close', () => gone.resolve(undefined)),
    );
    const client = request(`${small.url}/resource/sse`, { headers: session.headers, agent: false });
    client.on('error', () => undefined).end();
    await guarded.promise;
    client.destroy();
    await gone.promise;
    const next = await fetch(`${small.url}/resource/sse`, { headers: session.headers });
    expect(next.headers.get('content-type')).toContain('text/event-stream');
    expect(streams.size).toBe(1);
    await next.body?.cancel();
    await small.stop();
  });
});
