import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import readXlsxFile from 'read-excel-file/node';
import { request } from 'undici';
import {
  isKnownPermission,
  tenantAdminPermissions,
  userPermissions,
} from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { canary } from '../../support/canary.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const FORMULA = '=HYPERLINK("http://evil.example")';

/** What the console sends: fields of its filter as a form. */
async function send(
  session: Session,
  path: string,
  form: Record<string, string> = {},
): Promise<{ type: string; headers: Record<string, unknown>; bytes: Buffer }> {
  const { headers, body } = await request(session.url + path, {
    method: 'POST',
    headers: { ...session.headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });
  const bytes = Buffer.from(await body.arrayBuffer());
  return { type: String(headers['content-type']), headers, bytes };
}

function sheetXml(bytes: Buffer): string {
  const text = strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml'] ?? new Uint8Array());
  canary.check('an export', text);
  return text;
}

describe('the export of a list', () => {
  let plinth: Plinth;
  let admin: Session;
  let database: Database;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    database = plinth.app.get(Database);
  });

  afterAll(() => plinth.stop());

  async function rowsOf(
    path: string,
    form: Record<string, string> = {},
    session = admin,
  ): Promise<{ header: unknown[]; rows: unknown[][] }> {
    const { type, bytes } = await send(session, path, form);
    if (type !== XLSX) throw new Error(`${path}: ${bytes.toString()}`);
    sheetXml(bytes);
    const [sheet] = await readXlsxFile(bytes);
    const [header = [], ...rows] = (sheet?.data ?? []) as unknown[][];
    return { header, rows };
  }

  async function envelope(path: string, form: Record<string, string>, session = admin) {
    const { type, bytes } = await send(session, path, form);
    expect(type).toBe('application/json; charset=utf-8');
    return JSON.parse(bytes.toString()) as { code: number; msg: string };
  }

  it('is a workbook on every route that the console asks', async () => {
    const { text } = await admin.raw('GET', '/docs/json');
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
    const exports = Object.keys(paths).filter(
      (path) => path.endsWith('/export') && paths[path]?.['post'],
    );
    expect(exports.sort()).toEqual([
      '/agent/agent/export',
      '/chat/feedback/export',
      '/monitor/audit/export',
      '/monitor/logininfor/export',
      '/monitor/operlog/export',
      '/system/attach/export',
      '/system/client/export',
      '/system/dict/data/export',
      '/system/dict/type/export',
      '/system/fragment/export',
      '/system/info/export',
      '/system/message/export',
      '/system/model/export',
      '/system/provider/export',
      '/system/role/export',
      '/system/session/export',
      '/system/tenant/export',
      '/system/user/export',
    ]);
    for (const path of exports) {
      const list = done(await admin.get(path.replace('export', 'list')));
      const { header, rows } = await rowsOf(path);
      expect([path, rows.length]).toEqual([path, list.total]);
      for (const name of header) expect(name).toMatch(/^[A-Z][\w -]*( \(s\))?$/);
    }
  });

  it('has names for people, dates as dates, and no formula', async () => {
    done(await admin.post('/system/provider', { providerName: FORMULA, providerCode: 'f' }));
    const { bytes, headers } = await send(admin, '/system/provider/export', { providerCode: 'f' });
    expect(headers).toMatchObject({
      'content-disposition': 'attachment; filename=providers.xlsx',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
    const xml = sheetXml(bytes);
    expect(xml).not.toContain('<f>');
    expect(xml).toContain('t="inlineStr"><is><t xml:space="preserve">=HYPERLINK(');

    const { header, rows } = await rowsOf('/system/provider/export', { providerCode: 'f' });
    const row = new Map(header.map((name, at) => [name, rows[0]?.[at]]));
    expect([row.get('Name'), row.get('Status')]).toEqual([FORMULA, 'Enabled']);
    expect(row.get('Created')).toBeInstanceOf(Date);
  });

  it('has the filters of the list, of which blank ones count as absent', async () => {
    for (const name of ['Alpha', 'Beta']) {
      done(await admin.post('/system/role', { roleName: name, roleKey: name, permissions: [] }));
    }
    const named = await rowsOf('/system/role/export', {
      roleName: 'alph',
      status: '',
      pageSize: '1',
    });
    expect(named.rows.map(([, name]) => name)).toEqual(['Alpha']);
    const none = await rowsOf('/monitor/audit/export', {
      'params[beginTime]': '2999-01-01 00:00:00',
      'params[endTime]': '2999-12-31 00:00:00',
    });
    expect(none.rows).toEqual([]);
    expect(await envelope('/system/role/export', { orderByColumn: 'tenantId' })).toMatchObject({
      code: 400,
      msg: expect.stringContaining('orderByColumn must be a comma list of these fields'),
    });
  });

  it('shows what the list shows: no key, nothing of others', async () => {
    await createProvider(admin, 'custom_api');
    const apiKey = canary.plant('exported');
    await createModel(admin, { modelName: 'exported', apiHost: 'http://127.0.0.1:9', apiKey });
    const { header, rows } = await rowsOf('/system/model/export', { modelName: 'exported' });
    expect(rows[0]?.[header.indexOf('API key')]).toBe('Stored');

    const other = await makeTenant(plinth, admin, '700007');
    expect((await rowsOf('/system/model/export', {}, other.admin)).rows).toEqual([]);
    const users = await rowsOf('/system/user/export', {}, other.admin);
    expect(users.rows).toHaveLength(1);
  });

  it('needs its own permission', async () => {
    const lister = await makeRole(admin, 'lister', ['system:model:list']);
    const exporter = await makeRole(admin, 'exporter', ['system:model:export']);
    const one = await makeUser(plinth, admin, 'lister', [lister]);
    const two = await makeUser(plinth, admin, 'exporter', [exporter]);
    expect((await envelope('/system/model/export', {}, one.session)).code).toBe(403);
    expect((await send(two.session, '/system/model/export')).type).toBe(XLSX);
    expect((await envelope('/system/model/export', {}, plinth.anonymous())).code).toBe(401);
  });

  it('of the operation log has words, and the filters of its list', async () => {
    done(await admin.post('/system/dict/type', { dictName: 'Exported', dictType: 'exported' }));
    const filter = { businessType: '1', title: 'dictionary', operName: 'adm', status: '0' };
    const { header, rows } = await rowsOf('/monitor/operlog/export', filter);
    const shown = await admin.get<{ operId: number }[]>(
      `/monitor/operlog/list?${new URLSearchParams(filter).toString()}`,
    );
    expect(rows.map(([id]) => id)).toEqual(shown.rows.map(({ operId }) => operId));
    const row = new Map(header.map((name, at) => [name, rows[0]?.[at]]));
    expect(Object.fromEntries(row)).toMatchObject({
      User: 'admin',
      'Record type': 'dictionary_type',
      Type: 'Create',
      Action: 'create',
      Detail: expect.stringContaining('"exported"'),
      Status: 'Done',
    });
    expect(row.get('Time')).toBeInstanceOf(Date);
    expect((await rowsOf('/monitor/operlog/export', { status: '1' })).rows).toEqual([]);
  });

  it('of the sign-in log has words, and the filters of its list', async () => {
    const { name: userName } = await makeUser(plinth, admin, 'exported-sign-in');
    await expect(plinth.signIn(userName, 'wrong-password')).rejects.toThrow();
    const failed = await rowsOf('/monitor/logininfor/export', { userName, status: '1' });
    const all = await rowsOf('/monitor/logininfor/export', { userName });
    const column = (name: string): unknown[] =>
      all.rows.map((row) => row[all.header.indexOf(name)]);
    expect(column('Status')).toEqual(['Failed', 'Done']);
    expect(column('Message')).toEqual(['The user name or the password was wrong.', 'Signed in.']);
    expect(failed.rows).toEqual(all.rows.slice(0, 1));
  });

  it.each([
    ['operlog', 'logininfor'],
    ['logininfor', 'operlog'],
  ])('of %s needs its own permission', async (log, other) => {
    const others = [`monitor:${log}:list`, `monitor:${other}:export`];
    const lister = await makeRole(admin, `${log}-lister`, others);
    const exporter = await makeRole(admin, `${log}-exporter`, [`monitor:${log}:export`]);
    const one = await makeUser(plinth, admin, `${log}-lister`, [lister]);
    const two = await makeUser(plinth, admin, `${log}-exporter`, [exporter]);
    const path = `/monitor/${log}/export`;
    expect((await envelope(path, {}, one.session)).code).toBe(403);
    expect((await send(two.session, path)).type).toBe(XLSX);
  });

  it.each([
    ['administrators', tenantAdminPermissions],
    ['ordinary users', userPermissions],
  ])('is allowed to %s of a new tenant where the list is', (_who, permissions) => {
    const exports = permissions
      .filter((permission) => permission.endsWith(':list'))
      .map((permission) => permission.replace(/:list$/, ':export'))
      .filter(isKnownPermission);
    expect(exports.length).toBeGreaterThan(2);
    expect(permissions).toEqual(expect.arrayContaining(exports));
  });

  it('ends at 50,000 rows and says so, each row once', async () => {
    await database.query(
      `INSERT INTO audit_entry (tenant_id, action, target_type, detail)
       SELECT '000000', 'update', 'many', '{}' FROM generate_series(1, 50100)`,
    );
    const { bytes } = await send(admin, '/monitor/audit/export', { targetType: 'many' });
    const xml = sheetXml(bytes);
    const ids = [...xml.matchAll(/<c r="A\d+" s="0"><v>(\d+)<\/v>/g)].map(([, id]) => id);
    expect([ids.length, new Set(ids).size]).toEqual([50_000, 50_000]);
    expect(xml).toContain(
      'These are the first 50000 of 50100 rows. Narrow the filter to export the others.',
    );
  });

  it('is one of four at a time, and ends when its client goes away', async () => {
    const user = done(await admin.get<{ user: { userId: number } }>('/system/user/getInfo')).data;
    // Texts that do not compress: more than the connections hold while nobody reads.
    await database.query(
      `INSERT INTO chat_message (tenant_id, user_id, role, content)
       SELECT '000000', $1, 'user', (SELECT string_agg(md5(n || '-' || m), '') FROM generate_series(1, 900) AS m)
         FROM generate_series(1, 1200) AS n`,
      [user.user.userId],
    );
    const path = '/system/message/export';
    const open = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const leaving = new AbortController();
        const { headers, body } = await request(plinth.url + path, {
          method: 'POST',
          headers: admin.headers,
          signal: leaving.signal,
        });
        expect(headers['content-type']).toBe(XLSX);
        return { body, leaving };
      }),
    );
    expect(await envelope(path, {})).toEqual({
      code: 429,
      msg: 'Too many exports at the same time. Try again in 10 seconds.',
      data: null,
    });
    for (const { body, leaving } of open) {
      leaving.abort();
      await expect(body.arrayBuffer()).rejects.toThrow();
    }
    const filter = { role: 'system' };
    await eventually(
      async () => (await send(admin, path, filter)).type,
      (type) => type === XLSX,
    );
  });
});
