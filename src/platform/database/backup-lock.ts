import type { Database } from './database.js';

/** The advisory lock that a backup holds while it reads files: any number, the same in every release. */
export const BACKUP_LOCK = 6_039_002;

/**
 * Whether a backup of this database runs. Its snapshot names files whose records may be deleted meanwhile, so their contents stay
 * until it has ended. The lock goes with the connection of the backup.
 */
export async function isBackupRunning(database: Pick<Database, 'query'>): Promise<boolean> {
  const [row] = await database.query<{ running: boolean }>(
    `SELECT EXISTS (
       SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 0 AND objid = $1 AND objsubid = 1 AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS running`,
    [BACKUP_LOCK],
  );
  return row?.running ?? false;
}
