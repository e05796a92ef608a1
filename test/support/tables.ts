import { acrossTenants, Database } from '../../src/platform/database/index.js';
import type { Plinth } from './plinth.js';

/** What a request may change by having been let in, and the table that has it. */
const PASSING = ['last_active_time'];
const PASSING_TABLE = 'login_session';

/** Written when the requests that they tell of are over, or by sweeps, each at its own time. */
const WRITTEN_LATER = ['upstream_call', 'retention_sweep', 'audit_chain', 'audit_link'];

async function tableNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  return rows.map(({ name }) => name);
}

/** A digest of each table, to see whether anything has changed. */
export async function contentOf(plinth: Plinth): Promise<Record<string, string>> {
  const database = plinth.app.get(Database);
  const tables = (await tableNames(database)).filter((name) => !WRITTEN_LATER.includes(name));
  const digests = tables.map(contentDigest);
  const rows = await database.query<{ name: string; digest: string }>(digests.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

function contentDigest(table: string): string {
  const fields = PASSING.map((field) => `'${field}'`).join(', ');
  return `SELECT '${table}' AS name, md5(coalesce(string_agg(line, ',' ORDER BY line), '')) AS digest
         FROM (SELECT (to_jsonb(t) - ARRAY[${fields}])::text AS line FROM ${table} t) lines`;
}

/** The statement of `writesOf`, made once: it is the same for each Plinth of a process. */
let writesStatement: string | undefined;

/**
 * A digest of each table that any write changes, one of the same values included. It reads of each row only its version,
 * which is its place and the transaction that wrote it, and so takes a fraction of the time of `contentOf`.
 */
export async function writesOf(plinth: Plinth): Promise<Record<string, string>> {
  const database = plinth.app.get(Database);
  writesStatement ??= (await tableNames(database))
    .filter((name) => !WRITTEN_LATER.includes(name))
    .map((name) => (name === PASSING_TABLE ? contentDigest(name) : versionDigest(name)))
    .join(' UNION ALL ');
  const statement = writesStatement;
  // Prepared: to plan it takes longer than to run it.
  const rows = await acrossTenants('a test', () =>
    database.prepared<{ name: string; digest: string }>(statement, []),
  );
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

function versionDigest(table: string): string {
  return `SELECT '${table}' AS name, count(*) || ':' ||
         coalesce(sum(hashtextextended(ctid::text || xmin::text, 0)), 0) AS digest FROM ${table}`;
}

/** Every row of every table as text, after the name of its table. */
export async function rowsOf(plinth: Plinth): Promise<string[]> {
  const database = plinth.app.get(Database);
  const texts = (await tableNames(database)).map(
    (name) => `SELECT '${name}: ' || to_jsonb(t)::text AS line FROM ${name} t`,
  );
  const rows = await database.query<{ line: string }>(texts.join(' UNION ALL '));
  return rows.map(({ line }) => line);
}
