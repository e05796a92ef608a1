import { Database } from '../../../src/database/index.js';
import type { Plinth } from '../plinth.js';

/** What a request may change by having been let in. */
const PASSING = ['last_active_time'];

/** A digest of each table, to see whether anything has changed. */
export async function contentOf(plinth: Plinth): Promise<Record<string, string>> {
  const database = plinth.app.get(Database);
  const tables = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  const fields = PASSING.map((field) => `'${field}'`).join(', ');
  const digests = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, md5(coalesce(string_agg(line, ',' ORDER BY line), '')) AS digest
         FROM (SELECT (to_jsonb(t) - ARRAY[${fields}])::text AS line FROM ${name} t) lines`,
  );
  const rows = await database.query<{ name: string; digest: string }>(digests.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}
