import { Database } from '../../src/platform/database/index.js';
import type { Plinth } from './plinth.js';

/** What a request may change by having been let in. */
const PASSING = ['last_active_time'];

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
  const fields = PASSING.map((field) => `'${field}'`).join(', ');
  const digests = (await tableNames(database)).map(
    (name) =>
      `SELECT '${name}' AS name, md5(coalesce(string_agg(line, ',' ORDER BY line), '')) AS digest
         FROM (SELECT (to_jsonb(t) - ARRAY[${fields}])::text AS line FROM ${name} t) lines`,
  );
  const rows = await database.query<{ name: string; digest: string }>(digests.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
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
