import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acrossTenants, Database } from '../../src/platform/database/index.js';
import { migrations } from '../../src/platform/database/migrations.js';
import { PgvectorVectorStore } from '../../src/vector-store/relational.vector-store.js';
import { Plinth } from '../support/plinth.js';
import { tablesOfTenants } from '../../src/platform/database/tenant-check.js';

/** What stands in the migrations alone, each with the reason why the entities do not repeat it. */
const onlyInMigrations: readonly (readonly [RegExp, string])[] = [
  [/ DROP CONSTRAINT "\w+"$/, 'Keys: an entity has no relations, and rows are read by columns.'],
  [/^DROP INDEX /, 'Indexes: TypeORM can express neither partial ones nor ones of an expression.'],
  [/ ALTER COLUMN "\w+" DROP DEFAULT$/, 'Defaults: for statements that are written by hand.'],
  [
    /^COMMENT ON (TABLE|COLUMN) "\w+"(\."\w+")? IS NULL$/,
    'Comments: for people who read the database.',
  ],
];

let plinth: Plinth;
let database: Database;

beforeAll(async () => {
  plinth = await Plinth.start();
  database = plinth.app.get(Database);
});

afterAll(() => plinth.stop());

/** At the start, migrations run before statements are checked for their tenant. */
function ofEveryTenant<T>(work: () => Promise<T>): Promise<T> {
  return acrossTenants('a migration', work);
}

/** Everything that a migration makes, as PostgreSQL describes it. */
async function structure(): Promise<string[]> {
  const rows = await database.query<{ line: string }>(
    `SELECT 'column ' || table_name || '.' || column_name || ' ' || udt_name || ' ' || is_nullable || ' ' ||
            coalesce(character_maximum_length::text, '') || ' ' || coalesce(column_default, '') || ' ' ||
            is_identity AS line
       FROM information_schema.columns WHERE table_schema = current_schema()
     UNION ALL
     SELECT 'key ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
       FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
     UNION ALL
     SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
     UNION ALL
     SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
     UNION ALL
     SELECT 'function ' || proname FROM pg_proc p
      WHERE pronamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
     UNION ALL
     SELECT 'comment ' || objoid::regclass || ' ' || objsubid || ' ' || description
       FROM pg_description WHERE classoid = 'pg_class'::regclass AND objoid > 16384 AND objsubid > 0
     ORDER BY line`,
  );
  return rows.map(({ line }) => line);
}

/** The tables of tenants, without those that only other databases have. */
async function tablesHere(): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()',
  );
  const existing = new Set(rows.map(({ name }) => name));
  return tablesOfTenants(database.dataSource.entityMetadatas).filter((table) =>
    existing.has(table),
  );
}

async function tablesWith(column: string): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND column_name = $1 ORDER BY table_name`,
    [column],
  );
  return rows.map(({ name }) => name);
}

describe('the schema', () => {
  it('is the same in entities and migrations', async () => {
    const { upQueries } = await database.dataSource.driver.createSchemaBuilder().log();
    const changes = upQueries
      .map(({ query }) => query)
      .filter((query) => !onlyInMigrations.some(([form]) => form.test(query)));

    expect(upQueries.length).toBeGreaterThan(0);
    expect(changes).toEqual([]);
  });

  it('has a tenant column that refers to its tenant in every table of a tenant', async () => {
    const owned = await tablesHere();
    const referring = (await structure())
      .filter((line) => /FOREIGN KEY \(tenant_id\b.*ON DELETE CASCADE/.test(line))
      .map((line) => line.split(' ')[1]);
    // The audit log outlives its tenant's rows until the tenant's erasure deletes it in the same transaction. A trigger
    // on knowledge_base removes revisions: a reference would lock its row after those of vectors.
    const exceptions = ['audit_entry', 'vector_revision'];

    expect(await tablesWith('tenant_id')).toEqual([...owned, 'tenant'].sort());
    expect(owned.filter((table) => !referring.includes(table)).sort()).toEqual(exceptions);
  });

  it('has a user column that refers to its user in every table that has one', async () => {
    const referring = (await structure())
      .filter((line) =>
        /FOREIGN KEY \((tenant_id, )?user_id\) REFERENCES user_account.*ON DELETE /.test(line),
      )
      .map((line) => line.split(' ')[1] ?? '');

    expect(referring.length).toBeGreaterThan(10);
    // An approval goes with its run, frames of a stream with the response or message. The usage ledger keeps tokens and costs under the number of a deleted user.
    const exceptions = [
      'harness_approval',
      'harness_event',
      'stored_response_event',
      'stream_frame',
      'upstream_call',
    ];
    const tables = await tablesWith('user_id');

    expect(tables.filter((table) => !referring.includes(table))).toEqual(exceptions);
  });

  it('has an index for every foreign key', async () => {
    // Of a key of several columns, two that the index begins with find few rows: the tenant alone would not.
    const rows = await database.query<{ reference: string; isIndexed: boolean }>(
      `SELECT k.conrelid::regclass || ' ' || pg_get_constraintdef(k.oid) AS reference,
              EXISTS (
                SELECT 1 FROM pg_index i
                 WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indpred IS NULL
                   AND (i.indkey::int2[])[0:least(cardinality(k.conkey), 2) - 1] <@ k.conkey
              ) AS "isIndexed"
         FROM pg_constraint k
        WHERE k.contype = 'f' AND k.connamespace = current_schema()::regnamespace
        ORDER BY 1`,
    );
    const bare = rows.filter(({ isIndexed }) => !isIndexed);

    expect(rows.length).toBeGreaterThan(50);
    expect(bare.map(({ reference }) => reference)).toEqual([]);
  });

  it('has no index of messages or sessions by which one of them is looked for among many', async () => {
    // A connection plans the statements of a turn once, perhaps while the table is empty, when every index looks the same.
    const wholeIndexes = (await structure()).filter((line) =>
      / ON \S*chat_(message|session) USING btree \([^)]*\)$/.test(line),
    );
    expect(wholeIndexes.length).toBeGreaterThan(5);
    expect(wholeIndexes.filter((line) => !/\bid\)$/.test(line))).toEqual([]);
  });

  it('goes away with every migration undone, and comes back the same', async () => {
    const before = await structure();
    const rounds = migrations.map(() => () => database.dataSource.undoLastMigration());
    for (const undo of rounds) await ofEveryTenant(undo);
    const between = await structure();
    await ofEveryTenant(() => database.dataSource.runMigrations());
    await plinth.app.get(PgvectorVectorStore).prepare();

    expect(before.length).toBeGreaterThan(100);
    expect(between.filter((line) => !line.includes('migrations'))).toEqual([]);
    expect(await structure()).toEqual(before);
  });
});
