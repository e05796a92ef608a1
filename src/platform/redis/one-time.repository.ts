import type { Database } from '../database/index.js';

/** How many expired values each write removes. */
const MAX_REMOVED = 100;

/** One-time values in the database, for all processes of an installation. */
export class OneTimeRepository {
  constructor(private readonly database: Database) {}

  /** Stores the value; false when the key already has one that has not expired. */
  async insert(key: string, value: string, lifetimeSeconds: number): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO one_time_value (key, value, expires_at) VALUES ($1, $2, now() + $3 * interval '1 second')
       ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at
         WHERE one_time_value.expires_at < now()
       RETURNING key`,
      [key, value, lifetimeSeconds],
    );
    await this.database.query(
      `DELETE FROM one_time_value WHERE key IN (
         SELECT key FROM one_time_value WHERE expires_at < now() ORDER BY expires_at LIMIT ${MAX_REMOVED}
         FOR UPDATE SKIP LOCKED)`,
    );
    return rows.length > 0;
  }

  async has(key: string): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT key FROM one_time_value WHERE key = $1 AND expires_at >= now()',
      [key],
    );
    return rows.length > 0;
  }

  /** Removes the value and returns it. */
  async take(key: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ value: string; isAlive: boolean }>(
      `DELETE FROM one_time_value WHERE key = $1 RETURNING value, expires_at >= now() AS "isAlive"`,
      [key],
    );
    return row?.isAlive ? row.value : undefined;
  }
}
