import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../database/index.js';

type Row = Readonly<Record<string, unknown>>;

/**
 * Facts of the database for support, in aggregates: no row of a tenant and no value of a statement. Statements of
 * pg_stat_statements have placeholders; running ones are told by their first word, and errors by their code or the template of
 * their message.
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
  lastErrors: `SELECT place, error, count(*) AS count, max(time) AS "lastTime" FROM (
      SELECT 'model call' AS place, concat_ws(' ', provider_code, kind, outcome) AS error, call_time AS time
        FROM upstream_call WHERE attempt IS NOT NULL AND outcome NOT IN ('ok', 'aborted')
       UNION ALL SELECT 'answer', error ->> 'template', create_time FROM chat_message
                  WHERE role = 'assistant' AND error IS NOT NULL
       UNION ALL SELECT 'document', failure ->> 'template', update_time FROM attachment WHERE failure IS NOT NULL
       UNION ALL SELECT 'source', failure ->> 'template', ended_at FROM source_run WHERE failure IS NOT NULL
       UNION ALL SELECT 'run', error_code, ended_at FROM harness_run WHERE status = 'FAILED'
       UNION ALL SELECT 'batch', status, end_time FROM api_batch WHERE status = 'failed'
       UNION ALL SELECT 'notice', state, create_time FROM notice_delivery WHERE state = 'failed'
    ) failures WHERE time > now() - interval '7 days' GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 100`,
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
