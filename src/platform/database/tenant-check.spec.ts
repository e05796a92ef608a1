import { describe, expect, it } from '@jest/globals';
import { acrossTenants, inTenant, withBinding } from './tenant-check.js';
import { TenantCheck } from './tenant-check.js';
import type { MappedTable } from './tenant-check.js';

const MINE = '000000';
const OTHER = '300009';

function entity(tableName: string, ...properties: string[]): MappedTable {
  const columns = properties.map((propertyName) => ({ propertyName }));
  return { tableName, columns };
}

const tenantCheck = new TenantCheck();
tenantCheck.protect([
  entity('model', 'id', 'tenantId'),
  entity('role', 'id', 'tenantId'),
  entity('client', 'id'),
  entity('tenant', 'id', 'tenantId'),
]);

function check(sql: string, ...values: unknown[]): void {
  inTenant(MINE, () => tenantCheck.check(sql, values));
}

describe('the check of tenants', () => {
  it.each([
    ['of its own tenant', 'SELECT * FROM model WHERE id = $2 AND tenant_id = $1', [MINE, 7]],
    ['compared the other way round', 'SELECT * FROM model m WHERE $1 = m.tenant_id', [MINE]],
    ['with a list of one', 'SELECT * FROM model WHERE tenant_id = ANY ($1::text[])', [[MINE]]],
    [
      'of the object mapper',
      'SELECT "Model"."id" FROM "model" "Model" WHERE (("Model"."id" = $1) AND ("Model"."tenant_id" = $2))',
      [7, MINE],
    ],
    [
      'that inserts',
      'INSERT INTO "model"("id", "name", "tenant_id") VALUES (DEFAULT, $1, $2), (DEFAULT, $3, $4)',
      [OTHER, MINE, 'x', MINE],
    ],
    [
      'that hands the tenant on',
      'WITH given AS (SELECT 1) INSERT INTO model (tenant_id, name) SELECT $1, name FROM given',
      [MINE],
    ],
    [
      'with another tenant in a column of another name',
      'UPDATE model SET home_tenant_id = $2, acting_tenant_id = $2 WHERE tenant_id = $1',
      [MINE, OTHER],
    ],
    ['on a table without a tenant', 'SELECT * FROM client WHERE key = $1', [OTHER]],
    ['on the tenants themselves', 'UPDATE tenant SET status = 1 WHERE tenant_id = $1', [OTHER]],
    ['without a table', 'SELECT pg_advisory_xact_lock($1)', [1]],
  ])('lets pass a statement %s', (_, sql, values) => {
    expect(() => check(sql, ...values)).not.toThrow();
  });

  it.each([
    ['reads', 'SELECT * FROM model WHERE id = $2 AND tenant_id = $1', [OTHER, 7]],
    ['changes', 'UPDATE "model" SET "remark" = $1 WHERE "tenant_id" = $2', [MINE, OTHER]],
    ['deletes', 'DELETE FROM ONLY model WHERE tenant_id = $1', [OTHER]],
    ['joins', 'SELECT 1 FROM client c JOIN role r ON r.tenant_id = $1', [OTHER]],
    ['asks for two', 'SELECT 1 FROM role WHERE tenant_id = ANY ($1)', [[MINE, OTHER]]],
    [
      'inserts in one of its rows',
      'INSERT INTO "model"("id", "tenant_id") VALUES (DEFAULT, $1), (DEFAULT, $2)',
      [MINE, OTHER],
    ],
    [
      'inserts behind brackets and texts',
      "INSERT INTO model (name, remark, tenant_id) VALUES (coalesce($1, 'a, (b'), $2, $3)",
      [MINE, MINE, OTHER],
    ],
    [
      'hands on',
      'UPDATE model SET remark = 1 FROM unnest($1::text[]) given WHERE model.tenant_id = given',
      [[OTHER]],
    ],
    ['says nothing of a tenant', 'SELECT * FROM model WHERE id = $1', [7]],
  ])('refuses a statement that %s for another tenant', (_, sql, values) => {
    expect(() => check(sql, ...values)).toThrow('the work is bound to tenant 000000.');
  });

  it('refuses a second table without a tenant of its own', () => {
    const sql = 'SELECT 1 FROM model m JOIN role r ON r.id = m.role_id WHERE m.tenant_id = $1';
    expect(() => check(sql, MINE)).toThrow(
      'Refused a statement on model: it names more tables of tenants than tenant_id.',
    );
    expect(() => check(`${sql} AND r.tenant_id = m.tenant_id`, MINE)).not.toThrow();
  });

  it('names the table and both tenants', () => {
    expect(() => check('SELECT * FROM model WHERE tenant_id = $1', OTHER)).toThrow(
      'Refused a statement on model for tenant 300009: the work is bound to tenant 000000.',
    );
    expect(() => tenantCheck.check('SELECT * FROM role WHERE tenant_id = $1', [OTHER])).toThrow(
      'Refused a statement on role for tenant 300009: the work is bound to no tenant.',
    );
  });

  it('takes no missing value for the tenant of work that is bound to none', () => {
    for (const sql of ['SELECT * FROM role WHERE tenant_id = $1', 'SELECT * FROM role LIMIT $1']) {
      expect(() => tenantCheck.check(sql, [undefined])).toThrow('bound to no tenant');
    }
  });

  it('refuses nothing across tenants, and nothing before the tables are known', () => {
    const statement = ['SELECT * FROM model WHERE tenant_id = $1', [OTHER]] as const;
    expect(() => acrossTenants('a test', () => tenantCheck.check(...statement))).not.toThrow();
    expect(() => new TenantCheck().check(...statement)).not.toThrow();
  });

  it('binds what the work starts, and what it leaves for later', async () => {
    const statement = ['SELECT * FROM model WHERE tenant_id = $1', [MINE]] as const;
    const later = inTenant(MINE, () => withBinding(() => tenantCheck.check(...statement)));
    const started = inTenant(MINE, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      tenantCheck.check(...statement);
    });

    await expect(started).resolves.toBeUndefined();
    expect(later).not.toThrow();
    expect(() => inTenant(OTHER, later)).not.toThrow();
    expect(() => inTenant(OTHER, () => tenantCheck.check(...statement))).toThrow('tenant 300009');
  });
});
