import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { permissionCatalogue } from '../../../src/platform/access/index.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, WEB_CLIENT } from '../../support/template.js';

interface Node {
  id: number;
  parentId: number;
  label: string;
  menuType: string;
  perms: string;
  children: Node[];
}

interface RoleForm {
  checkedKeys: number[];
  menus: Node[];
}

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36';
const SEEDED = [
  'sys_grant_type',
  'sys_device_type',
  'sys_user_sex',
  'sys_normal_disable',
  'sys_common_status',
  'sys_oper_type',
];

/** What the system pages of the existing console call, in the order of its menu. */
describe('the system pages of existing consoles', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  async function signInWith(userAgent: string, password = ADMIN_PASSWORD): Promise<Session> {
    const body = {
      username: 'admin',
      password,
      clientId: WEB_CLIENT,
      grantType: 'password',
    };
    const sent = { 'user-agent': userAgent };
    const { text } = await plinth.anonymous().raw('POST', '/auth/login', body, sent);
    const { data } = JSON.parse(text) as { data: { access_token: string } | null };
    const authorization = `Bearer ${data?.access_token ?? ''}`;
    return new Session(plinth.url, { authorization, clientid: WEB_CLIENT });
  }

  const all = (nodes: readonly Node[]): Node[] => nodes.flatMap((node) => [node, ...node.children]);

  async function roleNamed(roleName: string): Promise<{ roleId: number; permissions: string[] }> {
    const path = `/system/role/list?roleName=${roleName}`;
    const [role] = (await root.get<{ roleId: number; permissions: string[] }[]>(path)).rows;
    if (!role) throw new Error(`There is no role ${roleName}.`);
    return role;
  }

  describe('users', () => {
    it('have one department, which every user is in', async () => {
      const { data } = done(await root.get<Node[]>('/system/user/deptTree'));
      expect(data).toEqual([
        { id: 1, parentId: 0, label: 'All users', weight: 0, disabled: false, children: [] },
      ]);
      const { rows } = await root.get<Record<string, unknown>[]>('/system/user/list?deptId=1');
      expect(rows[0]).toMatchObject({ deptId: 1, deptName: 'All users' });
      expect((await root.get('/system/post/optionselect?deptId=1')).data).toEqual([]);
    });

    it('can be saved as the form has loaded them', async () => {
      const { id } = await makeUser(plinth, root, 'form-user');
      const loaded = done(
        await root.get<{ user: Record<string, unknown>; roleIds: number[] }>(`/system/user/${id}`),
      ).data;
      // The rules of the form: texts, which may be empty.
      expect(loaded.user).toMatchObject({ email: '', phonenumber: '', deptId: 1 });
      done(await root.put('/system/user', { ...loaded.user, postIds: [], nickName: 'Saved' }));
      const { data } = await root.get<{ user: object }>(`/system/user/${id}`);
      expect(data.user).toEqual({ ...loaded.user, revision: 2, nickName: 'Saved' });
    });

    it('have settings by key, which are empty when they are not set', async () => {
      const value = async (key: string): Promise<unknown> =>
        (await root.get(`/system/config/configKey/${key}`)).data;
      expect(await value('sys.oss.previewListResource')).toBe('true');
      expect(await value('sys.user.initPassword')).toBe('');
      expect(await value('sys.unknown')).toBe('');
    });
  });

  describe('roles', () => {
    it('are made from the tree of permissions', async () => {
      const { data: tree } = done(await root.get<Node[]>('/system/menu/treeselect'));
      const permissions = all(tree).filter(({ menuType }) => menuType === 'F');
      expect(permissions.map(({ perms }) => perms).sort()).toEqual(
        permissionCatalogue
          .filter(({ superAdminOnly }) => !superAdminOnly)
          .map(({ permission }) => permission)
          .sort(),
      );
      const ids = all(tree).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true);

      const models = tree.find(({ label }) => label === 'Models');
      const list = models?.children.find(({ perms }) => perms === 'system:model:list');
      expect(list).toMatchObject({ parentId: models?.id, children: [] });
      const form = { roleName: 'Tree', roleKey: 'tree', roleSort: 1, menuCheckStrictly: true };
      done(await root.post('/system/role', { ...form, menuIds: [models?.id, list?.id] }));
      const { roleId, permissions: held } = await roleNamed('Tree');
      expect(held).toEqual(['system:model:list']);

      const { data } = done(await root.get<RoleForm>(`/system/menu/roleMenuTreeselect/${roleId}`));
      expect(data.menus).toEqual(tree);
      expect(data.checkedKeys).toEqual([models?.id, list?.id]);

      const query = models?.children.find(({ perms }) => perms === 'system:model:query');
      const menuIds = [...data.checkedKeys, query?.id];
      done(await root.put('/system/role', { ...form, roleId, menuIds }));
      expect((await roleNamed('Tree')).permissions).toEqual([
        'system:model:list',
        'system:model:query',
      ]);
      done(await root.put('/system/role', { roleId, menuIds: [] }));
      expect((await roleNamed('Tree')).permissions).toEqual([]);
    });

    it('refuse a number that is not in the tree, and a permission that the caller lacks', async () => {
      const role = { roleName: 'Odd', roleKey: 'odd' };
      expect(await root.post('/system/role', { ...role, menuIds: [12] })).toMatchObject({
        code: 400,
        msg: 'menuIds: 12 is not an entry of the tree. Load GET /system/menu/treeselect again.',
      });
      const { data: tree } = await root.get<Node[]>('/system/menu/treeselect');
      const held = ['system:role:add', 'system:role:list'];
      const clerk = await makeUser(plinth, root, 'role-clerk', [
        await makeRole(root, 'role-clerk', held),
      ]);
      const { data: own } = await clerk.session.get<Node[]>('/system/menu/treeselect');
      expect(
        all(own)
          .flatMap(({ perms }) => (perms ? [perms] : []))
          .sort(),
      ).toEqual(held);
      const foreign = all(tree).find(({ perms }) => perms === 'system:user:remove');
      expect(
        await clerk.session.post('/system/role', { ...role, menuIds: [foreign?.id] }),
      ).toMatchObject({ code: 403 });
    });

    it('show every entry of the super administrator as checked', async () => {
      const { roleId } = await roleNamed('Super');
      const { data } = await root.get<RoleForm>(`/system/menu/roleMenuTreeselect/${roleId}`);
      expect([...data.checkedKeys].sort()).toEqual(
        all(data.menus)
          .map(({ id }) => id)
          .sort(),
      );
    });

    it('have the data scope "all" and no other', async () => {
      const { roleId } = await roleNamed('Tree');
      expect((await root.get(`/system/role/${roleId}`)).data).toMatchObject({
        dataScope: '1',
        menuCheckStrictly: true,
        deptCheckStrictly: true,
      });
      const { data } = done(
        await root.get<{ checkedKeys: number[]; depts: Node[] }>(`/system/role/deptTree/${roleId}`),
      );
      expect([data.checkedKeys, data.depts.map(({ label }) => label)]).toEqual([[], ['All users']]);
      done(await root.put('/system/role/dataScope', { roleId, dataScope: '1', deptIds: [] }));
      expect(await root.put('/system/role/dataScope', { roleId, dataScope: '5' })).toMatchObject({
        code: 400,
        msg: 'dataScope must be 1, all data. What a role may see follows from its permissions: change them instead.',
      });
    });
  });

  describe('the dictionary', () => {
    it.each([
      ['sys_grant_type', ['password', 'sms', 'email', 'social', 'xcx']],
      ['sys_device_type', ['pc', 'android', 'ios', 'xcx']],
      ['sys_user_sex', ['0', '1', '2']],
      ['sys_normal_disable', ['0', '1']],
      ['sys_common_status', ['0', '1']],
      ['sys_oper_type', ['1', '2', '3', '4', '7', '0']],
    ])('has %s for every tenant', async (type, values) => {
      const number = String(700_000 + SEEDED.indexOf(type));
      const { admin } = await makeTenant(plinth, root, number);
      for (const session of [root, admin]) {
        const path = `/system/dict/data/type/${type}`;
        const { data } = await session.get<{ dictValue: string; seeded: boolean }[]>(path);
        expect(data.map(({ dictValue }) => dictValue)).toEqual(values);
        expect(data.every(({ seeded }) => seeded)).toBe(true);
      }
    });

    it('needs no refresh', async () => {
      expect(await root.delete('/system/dict/type/refreshCache')).toMatchObject({
        code: 200,
        msg: 'Changes of the dictionary count at once. There is nothing to refresh.',
      });
    });
  });

  describe('tenants', () => {
    it('have one package, which the form can save', async () => {
      const { data: packages } = done(
        await root.get<{ packageId: number }[]>('/system/tenant/package/selectList'),
      );
      expect(packages).toEqual([{ packageId: 1, packageName: 'All functions' }]);
      const { id } = await makeTenant(plinth, root, '710000');
      const { data } = await root.get<Record<string, unknown>>(`/system/tenant/${id}`);
      expect(data).toMatchObject({ packageId: 1, domain: '' });
      done(await root.put('/system/tenant', { ...data, companyName: 'Saved Ltd' }));
    });

    it.each([
      'syncTenantPackage?tenantId=710000&packageId=1',
      'syncTenantDict',
      'syncTenantConfig',
    ])('need no transfer: %s', async (path) => {
      const answer = await root.get(`/system/tenant/${path}`);
      expect(answer).toMatchObject({
        code: 200,
        msg: expect.stringMatching(/nothing to transfer/),
      });
    });
  });

  describe('clients', () => {
    it('can be saved as the form has loaded them, with their secret unchanged', async () => {
      const given = { clientKey: 'form', clientSecret: 'a-secret', grantTypeList: ['password'] };
      done(await root.post('/system/client', given));
      const [made] = (await root.get<{ id: number }[]>('/system/client/list?clientKey=form')).rows;
      const secret = async (): Promise<unknown> =>
        plinth.app
          .get(Database)
          .query(`SELECT client_secret FROM client WHERE client_key = 'form'`);
      const before = await secret();
      const { data } = await root.get<Record<string, unknown>>(`/system/client/${made?.id}`);
      expect(data['clientSecret']).toBe('******');
      done(await root.put('/system/client', { ...data, deviceType: 'ios' }));
      expect(await secret()).toEqual(before);
    });
  });

  describe('ways to sign in that are not here', () => {
    it.each([
      [
        '/resource/email/code?email=jo@example.com',
        'Codes by e-mail are not available: this service sends no mail. Ask an administrator for an account.',
      ],
      [
        '/auth/binding/github?domain=x&tenantId=000000',
        'Accounts of other services cannot be used here. Ask an administrator about single sign-on.',
      ],
      [
        '/user/qrcode',
        'Signing in with a QR code is not available. Use your user name and password.',
      ],
    ])('are refused in words for the form: %s', async (path, msg) => {
      expect(await plinth.anonymous().get(path)).toEqual({ code: 409, msg, data: null });
    });

    it('are not linked to an account', async () => {
      expect((await root.get('/system/social/list')).data).toEqual([]);
    });
  });

  describe('the filters of lists', () => {
    const ago = encodeURIComponent('2020-01-01 00:00:00');
    const end = encodeURIComponent('2020-01-01 23:59:59');
    const now = encodeURIComponent('2099-01-01 00:00:00');
    const total = async (path: string): Promise<number> =>
      done(await root.get<object[]>(path)).total;

    it('of roles have the time of creation', async () => {
      const list = '/system/role/list?pageNum=1&pageSize=10';
      expect(await total(`${list}&params[beginTime]=${ago}&params[endTime]=${end}`)).toBe(0);
      expect(await total(`${list}&params[beginTime]=${ago}&params[endTime]=${now}`)).toBe(
        await total(list),
      );
    });

    it('of tenants have the telephone', async () => {
      const { id } = await makeTenant(plinth, root, '730000');
      done(await root.put('/system/tenant', { id, contactPhone: '13900001111' }));
      expect(await total('/system/tenant/list?contactPhone=9000011')).toBe(1);
      expect(await total('/system/tenant/list?contactPhone=0000000000')).toBe(0);
    });

    it('of files have the storage and the time, by names of their own', async () => {
      const form = new FormData();
      form.append('file', new Blob(['notes']), 'filtered.txt');
      done(await root.upload('/resource/oss/upload', form));
      const list = '/resource/oss/list?originalName=filtered';
      expect(await total(`${list}&service=local`)).toBe(1);
      expect(await total(`${list}&service=elsewhere`)).toBe(0);
      const from = `${list}&params[beginCreateTime]=${ago}`;
      expect(await total(`${from}&params[endCreateTime]=${end}`)).toBe(0);
      expect(await total(`${from}&params[endCreateTime]=${now}`)).toBe(1);
      expect(await root.get(`${list}&params[beginCreateTime]=soon`)).toMatchObject({ code: 400 });
    });
  });

  describe('the list of sign-ins', () => {
    it('names browser and system', async () => {
      await signInWith(CHROME);
      const { rows } = await root.get<{ userAgent: string }[]>('/monitor/online/list');
      expect(rows.find(({ userAgent }) => userAgent === CHROME)).toMatchObject({
        browser: 'Chrome 129',
        os: 'Windows 10',
        deviceType: 'pc',
        deptName: 'All users',
        loginLocation: '',
      });
    });
  });

  describe('the logs', () => {
    it('show what was done, newest first, with their own permission', async () => {
      done(await root.post('/system/dict/type', { dictName: 'Logged', dictType: 'logged' }));
      const { rows, total } = done(
        await root.get<Record<string, unknown>[]>(
          '/monitor/operlog/list?pageNum=1&pageSize=2&businessType=1&title=dictionary&operName=adm&operIp=127&status=0&orderByColumn=operTime,costTime&isAsc=desc,desc',
        ),
      );
      expect(total).toBe(1);
      expect(rows[0]).toMatchObject({
        operId: expect.any(Number),
        title: 'dictionary_type',
        businessType: '1',
        operName: 'admin',
        operIp: '127.0.0.1',
        status: '0',
        operTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        requestMethod: '',
      });
      expect(JSON.parse(String(rows[0]?.['operParam']))).toMatchObject({ dictType: 'logged' });
      const listed = async (query: string): Promise<Record<string, unknown>[]> =>
        done(await root.get<Record<string, unknown>[]>(`/monitor/operlog/list?${query}`)).rows;
      const ids = (await listed('')).map(({ operId }) => Number(operId));
      expect(ids).toEqual([...ids].sort((a, b) => b - a));
      expect((await listed('')).map(({ action }) => action)).not.toContain('login');
      expect(await listed('status=1')).toEqual([]);
      for (const type of ['0', '2', '3', '4', '7']) {
        const types = (await listed(`businessType=${type}`)).map((row) => row['businessType']);
        expect([type, types.every((one) => one === type)]).toEqual([type, true]);
      }
    });

    it('show sign-ins, failed ones too', async () => {
      await signInWith(CHROME);
      await signInWith('curl/8.5.0', 'wrong-password');
      const listed = async (query: string): Promise<Record<string, unknown>[]> =>
        done(
          await root.get<Record<string, unknown>[]>(
            `/monitor/logininfor/list?pageNum=1&pageSize=1&userName=admin&${query}`,
          ),
        ).rows;
      expect((await listed('status=0'))[0]).toMatchObject({
        infoId: expect.any(Number),
        userName: 'admin',
        clientKey: 'pc',
        deviceType: 'pc',
        status: '0',
        ipaddr: '127.0.0.1',
        browser: 'Chrome 129',
        os: 'Windows 10',
        msg: 'Signed in.',
      });
      expect((await listed('status=1'))[0]).toMatchObject({
        clientKey: 'pc',
        status: '1',
        browser: 'curl 8.5.0',
        os: '',
        msg: 'The user name or the password was wrong.',
      });
    });

    it.each(['operlog', 'logininfor'])('%s says that its entries are kept', async (log) => {
      const { total } = await root.get<object[]>(`/monitor/${log}/list`);
      for (const entries of ['1', '1,2', 'clean']) {
        expect(await root.delete(`/monitor/${log}/${entries}`)).toEqual({
          code: 409,
          msg: 'Entries of the audit log cannot be deleted. They are deleted with their tenant.',
          data: null,
        });
      }
      expect((await root.get<object[]>(`/monitor/${log}/list`)).total).toBe(total);
    });

    it.each(['operlog', 'logininfor'])('%s has a permission of its own', async (log) => {
      const auditor = await makeUser(plinth, root, `auditor-${log}`, [
        await makeRole(root, `auditor-${log}`, [`monitor:${log}:list`]),
      ]);
      expect(await auditor.session.get(`/monitor/${log}/list`)).toMatchObject({ code: 200 });
      const other = log === 'operlog' ? 'logininfor' : 'operlog';
      expect(await auditor.session.get(`/monitor/${other}/list`)).toMatchObject({ code: 403 });
    });
  });
});
