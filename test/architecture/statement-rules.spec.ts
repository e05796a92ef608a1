import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { allowedStatements } from '../support/statements/allowed-statements.js';
import { asOneLine, tenantTables } from '../support/statements/recorded-statements.js';
import { tenantViolations } from '../support/statements/tenant-rule.js';

const tables = {
  owned: new Set(['model', 'provider', 'user_account', 'user_role', 'role']),
  registers: new Set(['tenant']),
};

function violations(sql: string): string[] {
  return tenantViolations(sql, tables);
}

describe('the check of statements lets pass', () => {
  it.each([
    ['a statement without a tenant table', 'SELECT 1 FROM client WHERE id = $1'],
    ['what only defines', 'CREATE TABLE model (id bigint); DROP TABLE model'],
    ['the tenants themselves', 'SELECT * FROM tenant ORDER BY id'],
    ['a parameter', 'SELECT * FROM model WHERE id = $2 AND tenant_id = $1'],
    ['a parameter on the left', 'SELECT * FROM model WHERE $1 = tenant_id'],
    ['a literal and a cast', "SELECT * FROM model m WHERE m.tenant_id = '000000'::text"],
    ['a list', 'SELECT * FROM model WHERE tenant_id IN ($1, $2)'],
    ['an array', 'SELECT * FROM model WHERE tenant_id = ANY ($1::text[])'],
    [
      'TypeORM, reading',
      `SELECT "Model"."id" AS "Model_id", "Model"."tenant_id" AS "Model_tenant_id" FROM "model" "Model"
         WHERE ((("Model"."id" = $1) AND ("Model"."tenant_id" = $2))) ORDER BY "Model"."id" ASC LIMIT 1`,
    ],
    [
      'TypeORM, reading with alternatives',
      `SELECT COUNT(1) AS "cnt" FROM "model" "Model" WHERE ((("Model"."id" = $1) AND ("Model"."tenant_id" = $2))
         OR (("Model"."category" = $3) AND ("Model"."tenant_id" = $4)))`,
    ],
    [
      'TypeORM, changing',
      'UPDATE "model" SET "remark" = $1 WHERE ("id" = $2 AND "tenant_id" = $3)',
    ],
    ['TypeORM, deleting', 'DELETE FROM "model" WHERE "id" IN ($1) AND "tenant_id" = $2'],
    [
      'TypeORM, inserting',
      'INSERT INTO "model"("id", "tenant_id") VALUES (DEFAULT, $1) RETURNING "id", "create_time"',
    ],
    [
      'a join that hands the tenant on',
      `SELECT 1 FROM user_role ur JOIN role r ON r.id = ur.role_id AND r.tenant_id = ur.tenant_id
         WHERE ur.tenant_id = $1`,
    ],
    [
      'a left join that asks for the tenant of the left side',
      `SELECT 1 FROM model q LEFT JOIN provider p ON p.tenant_id = q.tenant_id AND p.code = q.code
         WHERE q.tenant_id = $1`,
    ],
    [
      'a subquery that asks for the tenant of the query around it',
      `SELECT (SELECT count(*) FROM user_account u WHERE u.tenant_id = t.tenant_id) FROM tenant t
         WHERE t.tenant_id = $1`,
    ],
    [
      'rows that are given as arrays',
      `UPDATE model m SET remark = 'x' FROM unnest($1::text[], $2::bigint[]) AS given (owner, id)
         WHERE m.tenant_id = given.owner AND m.id = given.id`,
    ],
    [
      'a change and what it inserts',
      `WITH claimed AS (UPDATE model SET remark = 'x' WHERE tenant_id = $1 RETURNING id)
         INSERT INTO provider (tenant_id, code) SELECT $1, id FROM claimed RETURNING id`,
    ],
    [
      'a comparison with FROM in it',
      'DELETE FROM model WHERE tenant_id = $1 AND id IS DISTINCT FROM $2::uuid',
    ],
    [
      'functions with FROM and LEFT',
      `SELECT extract(epoch FROM now() - m.create_time), left(m.remark, 3) FROM model m
         WHERE m.tenant_id = $1 AND left(m.remark, 3) = 'abc' FOR UPDATE SKIP LOCKED`,
    ],
    [
      'an update on a conflict inside the tenant',
      `INSERT INTO model (tenant_id, name) VALUES ($1, $2)
         ON CONFLICT (tenant_id, name) DO UPDATE SET name = excluded.name`,
    ],
    [
      'a union of two scoped queries',
      'SELECT id FROM model WHERE tenant_id = $1 UNION ALL SELECT id FROM role WHERE tenant_id = $1',
    ],
    ['a column named like a table', "INSERT INTO client (role) VALUES ('user')"],
    ['a text that looks like SQL', "SELECT 'x FROM model' FROM client -- FROM model"],
  ])('%s', (_, sql) => {
    expect(violations(sql)).toEqual([]);
  });
});

describe('the check of statements reports', () => {
  it.each([
    ['reading by id alone', 'SELECT * FROM model WHERE id = $1', 'model without a tenant'],
    ['reading all', 'SELECT "tenant_id" FROM "model" "Model"', 'model without a tenant'],
    [
      'changing by id alone',
      'UPDATE "model" SET "tenant_id" = $1 WHERE "id" IN ($2)',
      'model without a tenant',
    ],
    [
      'deleting by id alone',
      'DELETE FROM "model" WHERE "id" IN ($1, $2)',
      'model without a tenant',
    ],
    [
      'inserting without',
      'INSERT INTO model (id, name) VALUES ($1, $2)',
      'model filled without a tenant',
    ],
    [
      'inserting without columns',
      'INSERT INTO model VALUES ($1, $2)',
      'model filled without a tenant',
    ],
    [
      'an alternative without',
      'SELECT * FROM model WHERE tenant_id = $1 AND id = $2 OR shared = 1',
      'model without a tenant',
    ],
    ['another tenant', 'SELECT * FROM model WHERE tenant_id <> $1', 'model without a tenant'],
    ['the opposite', 'SELECT * FROM model WHERE NOT tenant_id = $1', 'model without a tenant'],
    [
      'the opposite of a list',
      'SELECT * FROM model WHERE tenant_id NOT IN ($1)',
      'model without a tenant',
    ],
    [
      'a comparison with itself',
      'SELECT * FROM model m WHERE m.tenant_id = m.tenant_id',
      'model without a tenant',
    ],
    [
      'a comparison that passes when nothing is given',
      'SELECT * FROM model WHERE tenant_id = coalesce($1, tenant_id)',
      'model without a tenant',
    ],
    [
      'a column of a record as the tenant',
      'SELECT 1 FROM model m JOIN role r ON r.tenant_id = m.remark WHERE m.tenant_id = $1',
      'role without a tenant',
    ],
    [
      'a join without',
      'SELECT 1 FROM user_role ur JOIN role r ON r.id = ur.role_id WHERE ur.tenant_id = $1',
      'role without a tenant',
    ],
    [
      'a join of two with no tenant given',
      'SELECT 1 FROM user_role ur JOIN role r ON r.tenant_id = ur.tenant_id WHERE ur.id = $1',
      'user_role without a tenant',
    ],
    [
      'a left join whose condition does not bind the left side',
      'SELECT 1 FROM model m LEFT JOIN provider p ON m.tenant_id = $1 AND p.tenant_id = $1',
      'model without a tenant',
    ],
    [
      'a second table in the list',
      'SELECT 1 FROM model m, provider p WHERE m.tenant_id = $1 AND m.code = p.code',
      'provider without a tenant',
    ],
    [
      'an unqualified column that may be of either table',
      'SELECT 1 FROM model, provider WHERE tenant_id = $1',
      'provider without a tenant',
    ],
    [
      'a subquery without',
      'SELECT * FROM model WHERE tenant_id = $1 AND id IN (SELECT role_id FROM user_role WHERE user_id = $2)',
      'user_role without a tenant',
    ],
    [
      'a subquery that asks for the tenants of a list of all',
      'SELECT (SELECT count(*) FROM role r WHERE r.tenant_id = t.tenant_id) FROM tenant t',
      'role without a tenant',
    ],
    [
      'the tenants of a list of all, joined',
      'SELECT 1 FROM tenant t JOIN role r ON r.tenant_id = t.tenant_id',
      'role without a tenant',
    ],
    [
      'a named query without, and what is joined to it',
      `WITH dead AS (SELECT tenant_id, id FROM model WHERE lease < now())
         UPDATE provider p SET status = 1 FROM dead WHERE p.tenant_id = dead.tenant_id`,
      'model without a tenant',
    ],
    [
      'a subquery in the list of sources',
      'SELECT * FROM (SELECT * FROM model WHERE id = $1) x WHERE x.tenant_id = $2',
      'model without a tenant',
    ],
    [
      'the second query of a union',
      'SELECT id FROM model WHERE tenant_id = $1 UNION SELECT id FROM role',
      'role without a tenant',
    ],
    [
      'an update on a conflict across tenants',
      'INSERT INTO model (tenant_id, id) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET remark = $3',
      'model updated on a conflict without a tenant',
    ],
    ['the second statement of a text', 'SELECT 1; DELETE FROM role', 'role without a tenant'],
    [
      'a comment that is no predicate',
      'DELETE FROM role -- WHERE tenant_id = $1',
      'role without a tenant',
    ],
    [
      'a text that is no predicate',
      "DELETE FROM role WHERE name = 'tenant_id = $1'",
      'role without a tenant',
    ],
    [
      'emptying a table',
      'TRUNCATE role',
      'role in a statement of a kind that the check does not know',
    ],
    [
      'a selected subquery',
      'SELECT id, (SELECT min(id) FROM role) FROM model WHERE tenant_id = $1',
      'role without a tenant',
    ],
  ])('%s', (_, sql, expected) => {
    expect(violations(sql)).toContain(expected);
  });
});

describe('each statement that is allowed without a tenant', () => {
  it.each(allowedStatements)('stands in $file and needs to be allowed', ({ begins, file, why }) => {
    const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));

    expect(asOneLine(readFileSync(path, 'utf8'))).toContain(begins);
    expect(tenantViolations(begins, tenantTables())).not.toEqual([]);
    expect(why.length).toBeGreaterThan(20);
  });
});
