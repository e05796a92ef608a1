import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TenantLifecycle } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { done, makeTenant, makeUser, PASSWORD, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const HOME_STAYS =
  'The tenant 000000 belongs to the installation: it cannot be disabled, expire or be deleted.';

describe('tenants', () => {
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  const newTenant = (change: Record<string, unknown> = {}) => ({
    companyName: 'Example Ltd',
    username: 'boss',
    password: PASSWORD,
    ...change,
  });

  it('founds a tenant with a random id, its roles and its first administrator', async () => {
    const born: string[] = [];
    plinth.app.get(TenantLifecycle).join({
      created: async (tenantId) => void born.push(tenantId),
    });
    done(
      await root.post(
        '/system/tenant',
        newTenant({
          companyName: 'Random Ltd',
          domain: 'random.example.com',
          accountCount: '3',
          expireTime: '2099-12-31',
          packageId: 5,
        }),
      ),
    );
    const { rows, total } = await root.get<Record<string, unknown>[]>(
      '/system/tenant/list?companyName=random&pageNum=1&pageSize=10',
    );
    expect(total).toBe(1);
    expect(rows[0]).toEqual({
      id: expect.any(Number),
      tenantId: expect.stringMatching(/^\d{6}$/),
      companyName: 'Random Ltd',
      contactUserName: null,
      contactPhone: null,
      licenseNumber: null,
      address: null,
      domain: 'random.example.com',
      intro: null,
      remark: null,
      packageId: 1,
      expireTime: '2099-12-31 00:00:00',
      accountCount: 3,
      status: '0',
      registerEnabled: false,
      revision: 1,
      createTime: expect.any(String),
    });
    const tenantId = String(rows[0]?.['tenantId']);
    expect(born).toEqual([tenantId]);
    expect((await root.get(`/system/tenant/${String(rows[0]?.['id'])}`)).data).toEqual(rows[0]);
    const boss = await plinth.signIn('boss', PASSWORD, tenantId);
    const info = (
      await boss.get<{ roles: string[]; permissions: string[] }>('/system/user/getInfo')
    ).data;
    expect(info.roles).toEqual(['admin']);
    expect(info.permissions).toContain('system:user:add');
    expect(info.permissions).not.toContain('system:tenant:list');
    expect((await boss.get<{ roleKey: string }[]>('/system/role/list')).rows).toMatchObject([
      { roleKey: 'admin' },
      { roleKey: 'user' },
    ]);
  });

  it('keeps its people to the number of accountCount', async () => {
    const { admin, id } = await makeTenant(plinth, root, '112358');
    done(await root.put('/system/tenant', { id, accountCount: 3 }));
    const answers = await Promise.all(
      ['one', 'two', 'three', 'four'].map((userName) =>
        admin.post('/system/user', { userName, password: PASSWORD }),
      ),
    );
    expect(answers.filter(({ code }) => code === 200)).toHaveLength(2);
    expect(answers.find(({ code }) => code !== 200)).toEqual({
      code: 409,
      msg: 'This tenant has reached its limit of users. Delete one, or ask the operator to raise accountCount.',
      data: null,
    });
  });

  it.each([
    [{ tenantId: '12345' }, 400, 'tenantId must be six digits'],
    [
      { tenantId: '000000' },
      409,
      'The tenant id 000000 is taken. Choose another one, or give none.',
    ],
    [{ companyName: ' ' }, 400, 'companyName must not be empty'],
    [{ password: 'abc' }, 400, 'password must have at least 5 characters'],
    [{ expireTime: '2099-99-99' }, 400, 'expireTime: there is no 2099-99-99.'],
  ])('refuses %j', async (change, code, msg) => {
    expect(await root.post('/system/tenant', newTenant(change))).toMatchObject({ code, msg });
  });

  it('keeps the own tenant of the installation', async () => {
    const { rows } = await root.get<{ id: number }[]>('/system/tenant/list?tenantId=000000');
    const id = rows[0]?.id;
    for (const answer of [
      await root.delete(`/system/tenant/${id}`),
      await root.put('/system/tenant/changeStatus', { id, status: '1' }),
      await root.put('/system/tenant', { id, status: '1' }),
      await root.put('/system/tenant', { id, expireTime: '2001-01-01 00:00:00' }),
    ]) {
      expect(answer).toEqual({ code: 409, msg: HOME_STAYS, data: null });
    }
    done(await root.put('/system/tenant', { id, companyName: 'Ours' }));
  });

  it('is the business of super administrators only', async () => {
    const { admin, id } = await makeTenant(plinth, root, '141421');
    for (const answer of [
      await admin.get('/system/tenant/list'),
      await admin.get(`/system/tenant/${id}`),
      await admin.post('/system/tenant', newTenant()),
      await admin.put('/system/tenant', { id, accountCount: 1_000 }),
      await admin.put('/system/tenant/changeStatus', { id, status: '0' }),
      await admin.delete(`/system/tenant/${id}`),
      await admin.get('/system/tenant/dynamic/000000'),
      await admin.get('/system/tenant/dynamic/clear'),
      await admin.get('/system/client/list'),
    ]) {
      expect(answer).toMatchObject({ code: 403 });
    }
    for (const path of [
      '/system/permission/list',
      '/system/apikey/permissions',
      '/system/menu/treeselect',
    ]) {
      const { text } = await root.raw('GET', path);
      expect([path, text.includes('system:client:'), text.includes('system:tenant:')]).toEqual([
        ...[path, true, false],
      ]);
    }
    // Even a role that holds the permissions does not make a super administrator.
    const permissions = ['system:tenant:list', 'system:tenant:query'];
    done(await root.post('/system/role', { roleName: 'T', roleKey: 'tenants', permissions }));
    const { session } = await makeUser(plinth, root, 'half-root', [await roleId(root, 'tenants')]);
    expect(await session.get('/system/tenant/list')).toMatchObject({ code: 403 });
    // Nor does a key of a super administrator, which has no sign-in that could switch.
    const key = withKey(root, await makeKey(root, { permissions: ['system:tenant:query'] }));
    for (const caller of [session, key]) {
      for (const tenant of ['141421', 'clear']) {
        const path = `/system/tenant/dynamic/${tenant}`;
        expect(await caller.get(path)).toMatchObject({ code: 403 });
      }
    }
  });

  it('lets a super administrator work in another tenant until the next getInfo', async () => {
    const { admin } = await makeTenant(plinth, root, '173205');
    await makeUser(plinth, admin, 'local-one');
    const visitor = await plinth.signIn();
    expect(await visitor.get('/system/tenant/dynamic/999999')).toEqual({
      code: 404,
      msg: 'The tenant was not found. It may have been deleted.',
      data: null,
    });
    const names = async () =>
      (await visitor.get<{ userName: string }[]>('/system/user/list')).rows.map(
        ({ userName }) => userName,
      );
    done(await visitor.get('/system/tenant/dynamic/173205'));
    expect(await names()).toEqual(['local-one', 'boss']);
    // What is one's own stays one's own.
    expect((await visitor.get('/system/user/profile')).data).toMatchObject({
      user: { userName: 'admin', tenantId: '000000' },
    });
    done(await visitor.post('/system/user', { userName: 'guest', password: PASSWORD }));
    await plinth.signIn('guest', PASSWORD, '173205');
    expect((await admin.get<{ action: string }[]>('/monitor/audit/list')).rows).toContainEqual(
      expect.objectContaining({
        action: 'create',
        targetType: 'user',
        actorName: 'admin',
        detail: expect.objectContaining({ actorTenantId: '000000' }),
      }),
    );
    const kept = await visitor.get('/system/user/getInfo?keepTenant=true');
    expect(kept.data).toMatchObject({ tenantId: '173205', user: { tenantId: '000000' } });
    expect(await names()).toContain('guest');
    const ended = await visitor.get('/system/user/getInfo');
    expect(ended.data).toMatchObject({ tenantId: '000000' });
    expect(await names()).toContain('admin');
    done(await visitor.get('/system/tenant/dynamic/173205'));
    expect(await names()).toContain('guest');
    done(await visitor.get('/system/tenant/dynamic/clear'));
    expect(await names()).toContain('admin');
    // Another sign-in of the same user never switched.
    expect((await root.get('/system/user/list?userName=guest')).total).toBe(0);
  });

  it('deletes a tenant with everything it owns, in every table', async () => {
    const { id, admin } = await makeTenant(plinth, root, '577215');
    await makeUser(plinth, admin, 'gone', [await roleId(admin, 'user')]);
    const visitor = await plinth.signIn();
    const other = await plinth.signIn();
    for (const session of [visitor, other]) {
      done(await session.get('/system/tenant/dynamic/577215'));
    }
    const left: string[] = [];
    plinth.app.get(TenantLifecycle).join({
      deleting: async (tenantId) => void left.push(tenantId),
    });
    const database = plinth.app.get(Database);
    const tables = await database.query<{ table: string }>(
      `SELECT c.table_name AS "table" FROM information_schema.columns c
        WHERE c.table_schema = 'public' AND c.column_name = 'tenant_id' ORDER BY 1`,
    );
    expect(tables.length).toBeGreaterThan(10);
    const rowsIn = (table: string) =>
      database.query(`SELECT 1 FROM ${table} WHERE tenant_id = '577215'`);
    expect((await rowsIn('audit_entry')).length).toBeGreaterThan(0);
    done(await visitor.delete(`/system/tenant/${id}`));
    expect(left).toEqual(['577215']);
    for (const { table } of tables) {
      expect({ table, rows: (await rowsIn(table)).length }).toEqual({ table, rows: 0 });
    }
    // Whoever had switched there does not go on in the home tenant unawares.
    for (const session of [admin, visitor, other]) {
      expect(await session.get('/system/user/list')).toMatchObject({ code: 401 });
    }
    expect(await root.get(`/system/tenant/${id}`)).toMatchObject({ code: 404 });
    expect(
      (await root.get('/monitor/audit/list?action=delete&targetType=tenant&targetId=577215')).total,
    ).toBe(1);
  });

  it('deletes all of several tenants or none', async () => {
    const { id } = await makeTenant(plinth, root, '223606');
    expect(await root.delete(`/system/tenant/${id},99999`)).toMatchObject({ code: 404 });
    expect(await root.get(`/system/tenant/${id}`)).toMatchObject({ code: 200 });
    done(await root.delete(`/system/tenant/${id},${id}`));
  });

  it('refuses changes of the audit log outside of an erasure', async () => {
    await expect(
      plinth.app
        .get(Database)
        .query(`UPDATE audit_entry SET actor_name = 'x' WHERE tenant_id = '000000'`),
    ).rejects.toThrow('audit_entry is append-only');
  });

  (process.env['DATABASE_URL'] ? it : it.skip)(
    'can be deleted while somebody works in them',
    async () => {
      const { id, tenantId } = await makeTenant(plinth, root, '771177');
      const { DATABASE_URL: connectionString } = plinth.app.get<Config>(CONFIG);
      const worker = new pg.Client({ connectionString });
      await worker.connect();
      try {
        await worker.query('BEGIN');
        await worker.query('SELECT id FROM role WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
        const removal = root.delete(`/system/tenant/${id}`);
        await eventually(
          () =>
            worker.query(
              `SELECT 1 FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            ),
          ({ rowCount }) => rowCount === 1,
        );
        // Needs the tenant, which the removal holds.
        const insert =
          "INSERT INTO role (tenant_id, role_name, role_key) VALUES ($1, 'late', 'late')";
        const end = await worker.query(insert, [tenantId]).then(
          () => 'COMMIT',
          (error: unknown) => {
            // PostgreSQL ends either of the two.
            expect(error).toMatchObject({ code: '40P01' });
            return 'ROLLBACK';
          },
        );
        await worker.query(end);
        done(await removal);
      } finally {
        await worker.end();
      }
      expect((await root.get(`/system/tenant/${id}`)).code).toBe(404);
    },
  );
});
