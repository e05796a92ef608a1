import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { zipSync } from 'fflate';
import readXlsxFile from 'read-excel-file/node';
import { request } from 'undici';
import { Database } from '../../../src/platform/database/index.js';
import { sheetOf } from '../../../src/platform/http/index.js';
import { workbook } from '../../../src/platform/http/workbook.js';
import { done, makeRole, makeTenant, makeUser, PASSWORD, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const NOT_HELD = (permission: string): string =>
  `You cannot assign the permission ${permission}, because you do not have it. Ask an administrator who does.`;
const ABOVE =
  'This would change permissions that you do not have. Ask an administrator who has them.';

describe('users and roles', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  const myself = (session: Session) =>
    session.get<{ user: { userId: number }; permissions: string[] }>('/system/user/getInfo');

  it('does not let masked telephone numbers be found by a filter or an order', async () => {
    const listers = await makeRole(root, 'phone-listers', ['system:user:list', 'system:role:list']);
    const lister = await makeUser(plinth, root, 'phone-lister', [listers]);
    const body = { userName: 'called', password: PASSWORD, phonenumber: '13955501234' };
    done(await root.post('/system/user', body));
    const shown = (session: Session, query: string) =>
      session.get<{ userName: string; phonenumber: string }[]>(`/system/user/list?${query}`);
    const refused = {
      code: 403,
      msg: expect.stringContaining('system:user:edit to search or order by phonenumber'),
    };
    expect((await shown(lister.session, 'userName=called')).rows).toEqual([
      expect.objectContaining({ phonenumber: '139****1234' }),
    ]);
    for (const query of [
      'phonenumber=1395',
      'orderByColumn=phonenumber',
      'phonenumber=139****1234',
    ]) {
      expect(await shown(lister.session, query)).toMatchObject(refused);
    }
    for (const list of ['allocatedList', 'unallocatedList']) {
      const path = `/system/role/authUser/${list}?roleId=${listers}&phonenumber=1395`;
      expect(await lister.session.get(path)).toMatchObject(refused);
    }
    expect((await shown(lister.session, 'userName=called&phonenumber=')).total).toBe(1);
    expect((await shown(root, 'phonenumber=1395')).rows).toEqual([
      expect.objectContaining({ userName: 'called', phonenumber: '13955501234' }),
    ]);
    done(await root.delete(`/system/user/${lister.id}`));
    done(await root.delete(`/system/role/${listers}`));
  });

  it('makes, shows, changes and deletes a user', async () => {
    const made = await root.post('/system/user', {
      userName: 'Ada',
      password: PASSWORD,
      phonenumber: '13800001234',
      roleIds: String(await roleId(root, 'user')),
      unknownField: 1,
    });
    expect(made).toEqual({ code: 200, msg: 'Done.', data: null });
    const { rows, total } = await root.get<{ userId: number; phonenumber: string }[]>(
      '/system/user/list?userName=aDa&pageNum=1&pageSize=10',
    );
    expect(total).toBe(1);
    expect(rows[0]).toMatchObject({
      userName: 'Ada',
      nickName: 'Ada',
      tenantId: '000000',
      status: '0',
      phonenumber: '13800001234',
      roles: [expect.objectContaining({ roleKey: 'user' })],
    });
    expect(JSON.stringify(rows)).not.toMatch(/password|argon2/i);
    const userId = rows[0]?.userId ?? 0;
    done(await root.put('/system/user', { userId, nickName: 'Ada L', email: 'ada@example.com' }));
    expect((await root.get(`/system/user/${userId}`)).data).toMatchObject({
      user: { nickName: 'Ada L', email: 'ada@example.com', userName: 'Ada' },
      roleIds: [await roleId(root, 'user')],
      postIds: null,
      posts: [],
    });
    done(await root.delete(`/system/user/${userId}`));
    expect(await root.get(`/system/user/${userId}`)).toEqual({
      code: 404,
      msg: 'The user was not found. It may have been deleted.',
      data: null,
    });
  });

  it('gives a role once that is named twice', async () => {
    const id = await roleId(root, 'user');
    const user = await makeUser(plinth, root, 'twice', [id, id]);
    const { data: service } = done(
      await root.post<number>('/system/user/service', { userName: 'robot', roleIds: [id, id] }),
    );
    for (const userId of [user.id, service]) {
      expect((await root.get(`/system/user/${userId}`)).data).toMatchObject({ roleIds: [id] });
      done(await root.delete(`/system/user/${userId}`));
    }
  });

  it('answers what the forms choose from', async () => {
    const keys = (roles: { roleKey: string }[]): string[] => roles.map(({ roleKey }) => roleKey);
    const form = await root.get<{ roles: { roleKey: string }[] }>('/system/user/');
    expect(form.data).toMatchObject({ user: null, roleIds: null, postIds: null, posts: [] });
    expect(keys(form.data.roles)).toEqual(['superadmin', 'admin', 'user']);
    const user = await makeUser(plinth, root, 'chooser', [await roleId(root, 'user')]);
    const marked = await root.get<{ roles: { roleKey: string; flag: boolean }[] }>(
      `/system/user/authRole/${user.id}`,
    );
    expect(keys(marked.data.roles.filter(({ flag }) => flag))).toEqual(['user']);
    done(await root.put(`/system/user/authRole?userId=${user.id}&roleIds=`));
    const { data } = await root.get<{ roleIds: number[] }>(`/system/user/${user.id}`);
    expect(data.roleIds).toEqual([]);
    const users = await root.get<{ userName: string }[]>(
      `/system/user/optionselect?userIds=${user.id}`,
    );
    expect(users.data.map(({ userName }) => userName)).toEqual(['chooser']);
    const roles = await root.get<{ roleKey: string }[]>('/system/role/optionselect');
    expect(keys(roles.data)).toEqual(expect.arrayContaining(['admin', 'user']));
  });

  it('does not offer roles that the caller cannot give', async () => {
    const { admin } = await makeTenant(plinth, root, '299792');
    const form = await admin.get<{ roles: { roleKey: string }[] }>('/system/user');
    expect(form.data.roles.map(({ roleKey }) => roleKey)).toEqual(['admin', 'user']);
    const helpers = await makeRole(admin, 'helpers', ['system:user:query']);
    const helper = await makeUser(plinth, admin, 'helper', [helpers]);
    const narrow = await helper.session.get<{ roles: { roleKey: string }[] }>('/system/user');
    expect(narrow.data.roles.map(({ roleKey }) => roleKey)).toEqual(['helpers']);
  });

  it('filters by the time of creation', async () => {
    const count = async (query: string): Promise<number> =>
      (await root.get(`/system/user/list?userName=admin&${query}`)).total;
    expect(await count('params[beginTime]=2000-01-01')).toBe(1);
    expect(await count('params[endTime]=2000-01-01 00:00:00')).toBe(0);
    expect(await root.get('/system/user/list?params[beginTime]=soon')).toMatchObject({ code: 400 });
  });

  it.each([
    [{ userName: 'a', password: PASSWORD }, 'userName must have at least 2 characters'],
    [{ userName: 'a b', password: PASSWORD }, 'userName must not contain spaces'],
    [{ userName: 'carl', password: '1234' }, 'password must have at least 5 characters'],
    [{ userName: 'carl', password: 'x'.repeat(73) }, 'password must have at most 72 characters'],
  ])('refuses %j', async (body, msg) => {
    expect(await root.post('/system/user', body)).toMatchObject({ code: 400, msg });
  });

  it('keeps names unique in a tenant, whatever their case', async () => {
    done(await root.post('/system/user', { userName: 'twin', password: PASSWORD }));
    expect(await root.post('/system/user', { userName: 'TWIN', password: PASSWORD })).toEqual({
      code: 409,
      msg: 'The user name TWIN is taken. Choose another one.',
      data: null,
    });
    const racing = await Promise.all(
      Array.from({ length: 5 }, () =>
        root.post('/system/user', { userName: 'racer', password: PASSWORD }),
      ),
    );
    expect(racing.map(({ code }) => code).sort()).toEqual([200, 409, 409, 409, 409]);
  });

  it('masks telephone numbers for those who may not change users', async () => {
    const readers = await makeRole(root, 'readers', ['system:user:list', 'system:user:query']);
    const reader = await makeUser(plinth, root, 'reader', [readers]);
    done(await root.put('/system/user', { userId: reader.id, phonenumber: '13800001234' }));
    const { rows } = await reader.session.get<{ phonenumber: string }[]>(
      '/system/user/list?userName=reader',
    );
    expect(rows[0]?.phonenumber).toBe('138****1234');
    expect((await reader.session.get('/system/user/profile')).data).toMatchObject({
      user: { phonenumber: '13800001234' },
      roleGroup: 'readers',
    });
  });

  it('lets nobody disable, delete, demote or reset himself, nor the last super administrator', async () => {
    const { userId } = (await myself(root)).data.user;
    const changes = [
      root.put('/system/user/changeStatus', { userId, status: '1' }),
      root.put('/system/user', { userId, status: '1' }),
      root.delete(`/system/user/${userId}`),
      root.put(`/system/user/authRole?userId=${userId}&roleIds=`),
      root.put('/system/user', { userId, roleIds: [await roleId(root, 'admin')] }),
      root.put('/system/user/resetPwd', { userId, password: PASSWORD }),
      root.put('/system/role/authUser/cancel', {
        userId,
        roleId: await roleId(root, 'superadmin'),
      }),
    ];
    for (const change of changes) {
      expect(await change).toMatchObject({
        code: 403,
        msg: expect.stringMatching(/ yourself\. Ask another administrator\.$/),
      });
    }
    const second = await makeUser(plinth, root, 'second', [await roleId(root, 'superadmin')]);
    done(await second.session.put('/system/user/changeStatus', { userId, status: '1' }));
    expect(await root.get('/system/user/getInfo')).toMatchObject({ code: 401 });
    const third = await makeUser(plinth, second.session, 'third', [
      await roleId(second.session, 'superadmin'),
    ]);
    done(await second.session.put('/system/user/changeStatus', { userId: third.id, status: '1' }));
    // `second` is the last one now; nobody else may act on it, and it may not act on itself.
    expect(
      await second.session.put('/system/user/changeStatus', { userId: second.id, status: '1' }),
    ).toMatchObject({ code: 403 });
    done(await second.session.put('/system/user/changeStatus', { userId, status: '0' }));
    root = await plinth.signIn();
    done(await root.delete(`/system/user/${second.id},${third.id}`));
  });

  it('keeps one of two super administrators who disable each other at once', async () => {
    const superadmin = await roleId(root, 'superadmin');
    const { userId } = (await myself(root)).data.user;
    const rival = await makeUser(plinth, root, 'rival', [superadmin]);
    const [one, other] = await Promise.all([
      root.put('/system/user/changeStatus', { userId: rival.id, status: '1' }),
      rival.session.put('/system/user/changeStatus', { userId, status: '1' }),
    ]);
    expect([one.code, other.code].filter((code) => code === 200)).toHaveLength(1);
    const winner = one.code === 200 ? root : rival.session;
    done(
      await winner.put('/system/user/changeStatus', {
        userId: one.code === 200 ? rival.id : userId,
        status: '0',
      }),
    );
    root = await plinth.signIn();
    done(await root.delete(`/system/user/${rival.id}`));
  });

  describe('an import', () => {
    const HEADERS = ['User name', 'Display name', 'Password', 'E-mail', 'Sex', 'Roles', 'Remark'];

    async function fileOf(rows: readonly (readonly string[])[]): Promise<Blob> {
      const [headers = [], ...others] = rows;
      const columns = headers.map(
        (header, at) => [`c${at}`, [header, (value?: string) => value ?? null]] as const,
      );
      const sheet = sheetOf<Record<string, string>>('Users', Object.fromEntries(columns));
      const records = others.map((cells) =>
        Object.fromEntries(cells.map((cell, at) => [`c${at}`, cell])),
      );
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const pages = Readable.from([records]) as AsyncIterable<Record<string, string>[]>;
      for await (const part of workbook(sheet, pages)) parts.push(new Uint8Array(part));
      return new Blob(parts);
    }

    async function importing(
      session: Session,
      file: Blob,
      fields: Record<string, string> = {},
    ): Promise<{ code: number; msg: string; data?: unknown }> {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append('file', file, 'users.xlsx');
      return session.upload('/system/user/importData', form);
    }

    const found = async (userName: string) => {
      const list = `/system/user/list?userName=${encodeURIComponent(userName)}`;
      const { rows } = await root.get<Record<string, unknown>[]>(list);
      return rows;
    };

    it('has a template whose headers it reads', async () => {
      const { body } = await request(`${plinth.url}/system/user/importTemplate`, {
        method: 'POST',
        headers: { ...root.headers, 'content-type': 'application/json' },
        body: '{}',
      });
      const [sheet] = await readXlsxFile(Buffer.from(await body.arrayBuffer()));

      expect(sheet?.data).toEqual([
        // oxfmt-ignore
        ['User name', 'Display name', 'Password', 'E-mail', 'Telephone', 'Sex', 'Status', 'Roles', 'Remark'],
      ]);
    });

    it('creates users who can sign in, with their roles', async () => {
      const roles = await makeRole(root, 'imported-role', ['system:user:list']);
      const file = await fileOf([
        HEADERS,
        ['imported-ada', 'Ada', PASSWORD, 'ada@example.com', 'Female', 'imported-role', 'first'],
        ['', '', '', '', '', '', ''],
        ['imported-bob', '', PASSWORD, '', '', 'User, user'],
      ]);

      expect(await importing(root, file)).toMatchObject({
        code: 200,
        msg: '2 users were created, 0 were changed.',
      });
      expect(await found('imported-')).toEqual([
        expect.objectContaining({
          ...{ userName: 'imported-bob', nickName: 'imported-bob' },
          roles: [expect.objectContaining({ roleKey: 'user' })],
        }),
        expect.objectContaining({ userName: 'imported-ada', nickName: 'Ada', sex: '1' }),
      ]);
      const listed = async (filter: string): Promise<unknown[]> => {
        const { rows } = await root.get<Record<string, unknown>[]>(`/system/user/list?${filter}`);
        return rows.map(({ userName }) => userName);
      };
      expect(await listed(`roleId=${roles}`)).toEqual(['imported-ada']);
      expect(await listed('keyword=imported-')).toEqual(['imported-bob', 'imported-ada']);
      expect(await listed('keyword=ADA@example')).toEqual(['imported-ada']);
      expect(await listed('keyword=ADA@example&userName=bob')).toEqual([]);
      const ada = await plinth.signIn('imported-ada', PASSWORD);
      expect((await myself(ada)).data.permissions).toContain('system:user:list');
      expect(roles).toBeGreaterThan(0);
    });

    it('imports all rows or none, and names those it refuses', async () => {
      const file = await fileOf([
        HEADERS,
        ['imported-cy', '', PASSWORD],
        ['imported-di', '', 'abc'],
        ['imported-ada', '', PASSWORD],
        ['imported-ed', '', PASSWORD, '', '', 'no-such-role'],
      ]);

      const { code, msg, data } = await importing(root, file);
      expect(code).toBe(400);
      expect(data).toMatchObject({
        rows: [
          { row: 3, reason: expect.stringMatching(/^password /) },
          { row: 4, reason: expect.stringMatching(/^there is a user of/) },
          { row: 5, reason: 'it names a role that does not exist.' },
        ],
      });
      expect(msg).toMatch(/^Nothing was imported\. Row 3: password .*Row 4: there is a user of/);
      expect(msg).toContain('Row 5: it names a role that does not exist.');
      expect(await found('imported-cy')).toEqual([]);
      const twice = await fileOf([HEADERS, ['same<b>', '', PASSWORD], ['same<b>', '', PASSWORD]]);
      expect(await importing(root, twice)).toMatchObject({
        code: 400,
        msg: 'Nothing was imported. Row 3: The user name same&lt;b> is taken. Choose another one.',
        data: { rows: [{ row: 3, reason: expect.stringContaining('same<b> is taken') }] },
      });
      expect(await found('same')).toEqual([]);
    });

    it('changes users who exist when it is told to, and leaves empty cells and the password', async () => {
      const file = await fileOf([
        HEADERS,
        ['imported-ada', 'Ada L.', 'another-password'],
        ['imported-fay', 'Fay', PASSWORD],
      ]);

      expect(await importing(root, file, { updateSupport: 'true' })).toMatchObject({
        code: 200,
        msg: '1 users were created, 1 were changed.',
      });
      expect(await found('imported-ada')).toEqual([
        expect.objectContaining({ nickName: 'Ada L.', email: 'ada@example.com', sex: '1' }),
      ]);
      await plinth.signIn('imported-ada', PASSWORD);
    });

    it('cannot give a role that allows more than the caller may', async () => {
      const importers = await makeRole(root, 'importers', ['system:user:import']);
      const importer = await makeUser(plinth, root, 'importer', [importers]);
      const given = await fileOf([HEADERS, ['imported-gus', '', PASSWORD, '', '', 'superadmin']]);
      expect(await importing(importer.session, given)).toMatchObject({
        code: 400,
        msg: `Nothing was imported. Row 2: ${NOT_HELD('*:*:*')}`,
      });
      const changed = await fileOf([HEADERS, ['admin', 'Mine now', PASSWORD]]);
      const updating = { updateSupport: 'true' };
      expect(await importing(importer.session, changed, updating)).toMatchObject({
        code: 400,
        msg: `Nothing was imported. Row 2: ${ABOVE}`,
      });
    });

    it('refuses what is no workbook, has no rows, too many of them, or other headers', async () => {
      const many = Array.from({ length: 201 }, (_, at) => [`many-${at}`, '', PASSWORD]);
      for (const [file, msg] of [
        [new Blob(['User name\nada']), /not an \.xlsx workbook/],
        [new Blob([zipSync({ 'xl/workbook.xml': new Uint8Array(5 * 2 ** 20) })]), /too large/],
        [await fileOf([HEADERS]), /no rows below its headers/],
        [await fileOf([['Name'], ['ada']]), /no column "User name"/],
        [await fileOf([HEADERS, ...many]), /more than 200 rows/],
      ] as const) {
        const answer = await importing(root, file);
        expect(answer).toMatchObject({ code: 400, msg: expect.stringMatching(msg) });
      }
    });
  });

  describe('what a caller may give and touch', () => {
    let manager: Session;
    let managerId: number;
    let strongRole: number;

    beforeAll(async () => {
      const managers = await makeRole(root, 'managers', [
        'system:user:list',
        'system:user:query',
        'system:user:add',
        'system:user:edit',
        'system:user:remove',
        'system:user:resetPwd',
        'system:user:import',
        'system:user:export',
        'system:role:list',
        'system:role:query',
        'system:role:add',
        'system:role:edit',
        'system:role:remove',
        'monitor:online:list',
        'monitor:online:forceLogout',
      ]);
      strongRole = await makeRole(root, 'strong', ['system:provider:edit']);
      const made = await makeUser(plinth, root, 'manager', [managers]);
      manager = made.session;
      managerId = made.id;
    });

    it('cannot give a role that allows more', async () => {
      const superadmin = await roleId(root, 'superadmin');
      for (const [roleIds, lacking] of [
        [[strongRole], 'system:provider:edit'],
        [[superadmin], '*:*:*'],
      ] as const) {
        expect(
          await manager.post('/system/user', { userName: 'puppet', password: PASSWORD, roleIds }),
        ).toEqual({ code: 403, msg: NOT_HELD(lacking), data: null });
      }
      const weak = await makeUser(plinth, root, 'weak');
      for (const answer of [
        await manager.put('/system/user', { userId: weak.id, roleIds: [strongRole] }),
        await manager.put(`/system/user/authRole?userId=${weak.id}&roleIds=${strongRole}`),
        await manager.put(
          `/system/role/authUser/selectAll?roleId=${strongRole}&userIds=${weak.id}`,
        ),
      ]) {
        expect(answer).toEqual({ code: 403, msg: NOT_HELD('system:provider:edit'), data: null });
      }
      expect(
        await manager.put(
          `/system/role/authUser/selectAll?roleId=${strongRole}&userIds=${managerId}`,
        ),
      ).toMatchObject({ code: 403 });
    });

    it('cannot make or change a role beyond the own permissions', async () => {
      const role = { roleName: 'Sly', roleKey: 'sly' };
      expect(
        await manager.post('/system/role', { ...role, permissions: ['system:provider:edit'] }),
      ).toEqual({ code: 403, msg: NOT_HELD('system:provider:edit'), data: null });
      for (const one of [
        '*:*:*',
        '*:*:list',
        'system:everything:do',
        'system:everything:*',
        'syst:*',
      ]) {
        const permissions = [one];
        expect(await root.post('/system/role', { ...role, permissions })).toMatchObject({
          code: 400,
          msg: `permissions: ${permissions[0]} cannot be assigned. GET /system/permission/list names those that can; system:info:* stands for all that begin so.`,
        });
      }
      done(await manager.post('/system/role', { ...role, permissions: ['system:user:list'] }));
      const sly = await roleId(root, 'sly');
      expect(
        await manager.put('/system/role', {
          roleId: sly,
          permissions: ['system:user:list', 'system:tenant:list'],
        }),
      ).toEqual({ code: 403, msg: NOT_HELD('system:tenant:list'), data: null });
      for (const answer of [
        await manager.put('/system/role', { roleId: strongRole, permissions: [] }),
        await manager.put('/system/role/changeStatus', { roleId: strongRole, status: '1' }),
        await manager.delete(`/system/role/${strongRole}`),
      ]) {
        expect(answer).toEqual({ code: 403, msg: ABOVE, data: null });
      }
    });

    it('can give a wildcard for what they have all of, and nothing beyond', async () => {
      const role = { roleName: 'Wide', roleKey: 'wide' };
      for (const [wildcard, lacking] of [
        ['system:provider:*', 'system:provider:list'],
        ['system:*:*', 'system:tenant:list'],
      ] as const) {
        expect(
          await manager.post('/system/role', { ...role, permissions: [wildcard] }),
        ).toMatchObject({ code: 403, msg: NOT_HELD(lacking) });
      }
      const wide = await makeRole(manager, 'wide', ['system:user:*']);
      done(await manager.put('/system/role', { roleId: wide, permissions: ['system:user:*'] }));
      const above = await makeRole(root, 'above', ['system:info:*']);
      expect(await manager.delete(`/system/role/${above}`)).toMatchObject({
        code: 403,
        msg: ABOVE,
      });
    });

    it('have by a wildcard each permission that it covers', async () => {
      const bases = await makeRole(root, 'bases', ['system:info:*']);
      const { session } = await makeUser(plinth, root, 'basekeeper', [bases]);
      const { permissions } = (await myself(session)).data;
      expect([...permissions].sort()).toEqual(
        ['add', 'edit', 'export', 'list', 'query', 'remove'].map(
          (action) => `system:info:${action}`,
        ),
      );
      done(await session.post('/system/info', { name: 'Of the keeper' }));
      expect((await session.get('/system/info/list')).code).toBe(200);
      expect((await session.get('/system/attach/list')).code).toBe(403);
    });

    it('cannot remove permissions from themselves', async () => {
      const own = await roleId(root, 'managers');
      expect(await manager.put('/system/role', { roleId: own, permissions: [] })).toMatchObject({
        code: 403,
        msg: 'You have this role and cannot remove permissions from yourself. Ask another administrator.',
      });
      done(await manager.put('/system/role', { roleId: own, remark: 'ours' }));
    });

    it('cannot touch a user who may do more', async () => {
      const strong = await makeUser(plinth, root, 'strongman', [strongRole]);
      const online = await root.get<{ tokenId: string }[]>(
        '/monitor/online/list?userName=strongman',
      );
      const { userId: rootId } = (await myself(root)).data.user;
      for (const userId of [strong.id, rootId]) {
        for (const answer of [
          await manager.put('/system/user', { userId, email: 'mine@example.com' }),
          await manager.put('/system/user/resetPwd', { userId, password: 'mine-now' }),
          await manager.put('/system/user/changeStatus', { userId, status: '1' }),
          await manager.put(`/system/user/authRole?userId=${userId}&roleIds=`),
          await manager.delete(`/system/user/${userId}`),
        ]) {
          expect(answer).toEqual({ code: 403, msg: ABOVE, data: null });
        }
      }
      expect(await manager.delete(`/monitor/online/${online.rows[0]?.tokenId}`)).toMatchObject({
        code: 403,
      });
      expect(await strong.session.get('/system/user/getInfo')).toMatchObject({ code: 200 });
    });
  });

  it('keeps the role key superadmin for itself and the role as it is', async () => {
    for (const roleKey of ['superadmin', 'SuperAdmin']) {
      expect(await root.post('/system/role', { roleName: 'x', roleKey })).toMatchObject({
        code: 409,
        msg: 'The role key superadmin is reserved. Choose another one.',
      });
    }
    const superadmin = await roleId(root, 'superadmin');
    for (const answer of [
      await root.put('/system/role', { roleId: superadmin, roleName: 'x' }),
      await root.put('/system/role/changeStatus', { roleId: superadmin, status: '1' }),
      await root.delete(`/system/role/${superadmin}`),
    ]) {
      expect(answer).toMatchObject({
        code: 403,
        msg: 'The role superadmin cannot be changed. Create another role instead.',
      });
    }
  });

  it('shows who has a role, gives and takes it', async () => {
    const crew = await makeRole(root, 'crew', []);
    const [a, b] = [await makeUser(plinth, root, 'crew-a'), await makeUser(plinth, root, 'crew-b')];
    done(await root.put(`/system/role/authUser/selectAll?roleId=${crew}&userIds=${a.id},${b.id}`));
    const members = async (which: string): Promise<unknown[]> =>
      (
        await root.get<{ userName: string }[]>(
          `/system/role/authUser/${which}?roleId=${crew}&userName=crew-&pageNum=1&pageSize=10`,
        )
      ).rows.map(({ userName }) => userName);
    expect(await members('allocatedList')).toEqual(['crew-b', 'crew-a']);
    done(await root.put('/system/role/authUser/cancel', { roleId: crew, userId: a.id }));
    expect(await members('allocatedList')).toEqual(['crew-b']);
    expect(await members('unallocatedList')).toEqual(['crew-a']);
    expect(await root.delete(`/system/role/${crew}`)).toEqual({
      code: 409,
      msg: 'The role crew still has users. Remove it from them first.',
      data: null,
    });
    done(await root.put(`/system/role/authUser/cancelAll?roleId=${crew}&userIds=${b.id}`));
    done(await root.delete(`/system/role/${crew}`));
  });

  it('answers users and roles of another tenant like missing ones', async () => {
    const other = await makeTenant(plinth, root, '314159');
    const foreign = await makeUser(plinth, root, 'foreign');
    const foreignRole = await roleId(root, 'user');
    const missing = { code: 404, msg: expect.stringContaining('was not found') };
    for (const answer of [
      await other.admin.get(`/system/user/${foreign.id}`),
      await other.admin.get(`/system/user/authRole/${foreign.id}`),
      await other.admin.put('/system/user', { userId: foreign.id, nickName: 'x' }),
      await other.admin.put('/system/user/changeStatus', { userId: foreign.id, status: '1' }),
      await other.admin.put('/system/user/resetPwd', { userId: foreign.id, password: PASSWORD }),
      await other.admin.put(`/system/user/authRole?userId=${foreign.id}&roleIds=`),
      await other.admin.delete(`/system/user/${foreign.id}`),
      await other.admin.get(`/system/role/${foreignRole}`),
      await other.admin.put('/system/role', { roleId: foreignRole, roleName: 'x' }),
      await other.admin.put('/system/role/changeStatus', { roleId: foreignRole, status: '1' }),
      await other.admin.delete(`/system/role/${foreignRole}`),
      await other.admin.get(`/system/role/authUser/allocatedList?roleId=${foreignRole}`),
      await other.admin.put('/system/role/authUser/cancel', {
        roleId: foreignRole,
        userId: foreign.id,
      }),
      await other.admin.post('/system/user', {
        userName: 'mix',
        password: PASSWORD,
        roleIds: [foreignRole],
      }),
    ]) {
      expect(answer).toMatchObject(missing);
    }
    const own = await makeUser(plinth, other.admin, 'own');
    expect(await other.admin.delete(`/system/user/${own.id},${foreign.id}`)).toMatchObject(missing);
    expect((await other.admin.get('/system/user/list?userName=own')).total).toBe(1);
    expect((await other.admin.get('/system/user/list')).rows).toHaveLength(2);
  });

  it('forgets a deleted user in every table', async () => {
    const doomed = await makeUser(plinth, root, 'doomed', [await roleId(root, 'user')]);
    await plinth.anonymous().post('/auth/login', {
      clientId: 'e5cd7e4891bf95d1d19206ce24a7b32e',
      grantType: 'password',
      username: 'Doomed',
      password: 'wrong-one',
    });
    const database = plinth.app.get(Database);
    const tables = await database.query<{ table: string }>(
      `SELECT table_name AS "table" FROM information_schema.columns
        WHERE table_schema = 'public' AND column_name = 'user_id' ORDER BY 1`,
    );
    expect(tables.map(({ table }) => table)).toEqual(
      expect.arrayContaining(['chat_message', 'chat_session', 'login_session', 'stored_file']),
    );
    await database.query(`INSERT INTO chat_session (tenant_id, user_id) VALUES ('000000', $1)`, [
      doomed.id,
    ]);
    await database.query(
      `INSERT INTO chat_message (tenant_id, user_id, role, content) VALUES ('000000', $1, 'user', 'hi')`,
      [doomed.id],
    );
    await database.query(
      `INSERT INTO stored_file (tenant_id, user_id, storage_key, original_name, mime_type, byte_size, sha256, service)
       VALUES ('000000', $1, 'doomed-file', 'a', 'b', 1, repeat('0', 64), 'local')`,
      [doomed.id],
    );
    const named = async (): Promise<number> =>
      (
        await database.query(
          `SELECT 1 FROM audit_entry WHERE tenant_id = '000000'
             AND (lower(actor_name) = 'doomed' OR (actor_id = $1 AND ip IS NOT NULL))`,
          [doomed.id],
        )
      ).length;
    expect(await named()).toBe(2);
    done(await root.delete(`/system/user/${doomed.id}`));
    expect(await named()).toBe(0);
    for (const { table } of tables) {
      const rows = await database.query(
        `SELECT 1 FROM ${table} WHERE tenant_id = '000000' AND user_id = $1`,
        [doomed.id],
      );
      expect({ table, rows: rows.length }).toEqual({ table, rows: 0 });
    }
    const files = await database.query(
      `SELECT 1 FROM stored_file WHERE tenant_id = '000000' AND storage_key = 'doomed-file' AND user_id IS NULL`,
    );
    expect(files).toHaveLength(1);
    expect(await doomed.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });
});
