import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../database/index.js';

type Row = Readonly<Record<string, unknown>>;

/**
 * Facts of the database for support, in aggregates: no row of a tenant and no value of a statement. Statements of
 * pg_stat_statements have placeholders; running ones are told by their first word.
 */
const FACTS = {
  version: 'SELECT version()',
  migrations: 'SELECT name FROM migrations ORDER BY id DESC LIMIT 50',
  size: 'SELECT pg_database_size(current_database()) AS bytes',
  tables: `SELECT relname AS name, pg_total_relation_size(relid) AS bytes, n_live_tup AS rows, n_dead_tup AS "deadRows",
                  last_autovacuum AS "lastAutovacuum"
             FROM pg_stat_user_tables ORDER BY 2 DESC LIMIT 100`,
  slowStatements: `SELECT query, calls, round(mean_exec_time)::float8 AS "meanMs", round(total_exec_time)::float8 AS "totalMs"
                     FROM pg_stat_statements WHERE query ~* '^\\s*(with|select|insert|update|delete)'
                    ORDER BY total_exec_time DESC LIMIT 30`,
  connections: `SELECT state, wait_event AS "waitsFor", split_part(ltrim(query), ' ', 1) AS operation, count(*) AS count,
                       max(round(extract(epoch FROM now() - state_change)))::float8 AS "seconds"
                  FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1, 2, 3 LIMIT 100`,
} as const;

@Injectable()
export class DiagnosisRepository {
  constructor(private readonly database: Database) {}

  /** Each fact, or why it cannot be read. */
  async facts(): Promise<Readonly<Record<string, readonly Row[] | string>>> {
    const entries: [string, readonly Row[] | string][] = [];
    for (const [name, sql] of Object.entries(FACTS)) {
      const rows = await acrossTenants('diagnosis', () => this.database.query<Row>(sql)).catch(
        (error: unknown) => `unavailable (${String((error as { code?: unknown }).code)})`,
      );
      entries.push([name, rows]);
    }
    return Object.fromEntries(entries);
  }
}
