import { BACKUP_LOCK, createDataSource } from '../platform/database/index.js';
import type { EmbeddedStore } from '../platform/database/index.js';

/** Keys of files read in one statement. */
const MAX_KEY_COUNT = 5_000;

/** What the manifest says of a database. */
export interface DatabaseFacts {
  /** The major version of PostgreSQL. */
  readonly postgres: number;
  readonly lastMigration: string;
  readonly vectorStores: string[];
}

/** The database as one statement sees it for the whole time of a backup. */
export interface DatabaseSnapshot extends DatabaseFacts {
  /** The name by which pg_dump takes over the snapshot. */
  readonly id: string;
  /** The keys of all stored files. */
  fileKeys(): AsyncGenerator<string>;
  close(): Promise<void>;
}

type Runner = ReturnType<ReturnType<typeof createDataSource>['createQueryRunner']>;

/**
 * Opens a snapshot on a connection of its own, which also holds BACKUP_LOCK: contents of the files that the snapshot knows stay
 * until it is closed. undefined where the database has no migrations.
 */
export async function openSnapshot(
  url: string | undefined,
  store: EmbeddedStore | undefined,
): Promise<DatabaseSnapshot | undefined> {
  const { runner, close } = await connect(url, store);
  try {
    await runner.query('SET idle_in_transaction_session_timeout = 0');
    await runner.query('SET statement_timeout = 0');
    // Taken before the snapshot: a removal that has not seen the lock belongs to a record that the snapshot does not have.
    await runner.query('SELECT pg_advisory_lock_shared($1)', [BACKUP_LOCK]);
    await runner.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const facts = await factsOf(runner);
    if (!facts) {
      await close();
      return undefined;
    }
    const id = store ? '' : await value<string>(runner, 'SELECT pg_export_snapshot() AS value');
    return { ...facts, id, fileKeys: () => fileKeys(runner), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function factsOf(runner: Runner): Promise<DatabaseFacts | undefined> {
  const isMigrated = "SELECT to_regclass('migrations') IS NOT NULL AS value";
  if (!(await value<boolean>(runner, isMigrated))) return undefined;
  return {
    postgres: await majorVersion(runner),
    lastMigration: await value(
      runner,
      'SELECT name AS value FROM migrations ORDER BY timestamp DESC LIMIT 1',
    ),
    vectorStores: await value(
      runner,
      'SELECT coalesce(array_agg(DISTINCT vector_store) FILTER (WHERE vector_store IS NOT NULL), ARRAY[]::varchar[]) AS value FROM knowledge_base',
    ),
  };
}

async function* fileKeys(runner: Runner): AsyncGenerator<string> {
  for (let after = '0'; ;) {
    const rows = await runner.manager.query<{ id: string; key: string }[]>(
      'SELECT id::text, storage_key AS key FROM stored_file WHERE id > $1 ORDER BY id LIMIT $2',
      [after, MAX_KEY_COUNT],
    );
    for (const { key } of rows) yield key;
    const last = rows.at(-1);
    if (!last || rows.length < MAX_KEY_COUNT) return;
    after = last.id;
  }
}

/** A server to which a backup is restored. */
export interface RestoreTarget {
  readonly postgres: number;
  readonly isEmpty: boolean;
  /** Processes of the service that are connected to the database. */
  readonly processes: number;
  /** Removes everything from the schema. */
  clear(): Promise<void>;
  /** Lets the next start choose names of its own for the collections in Qdrant. */
  forgetVectorPrefix(): Promise<void>;
  close(): Promise<void>;
}

export async function openTarget(url: string): Promise<RestoreTarget> {
  const { runner, close } = await connect(url);
  try {
    const isEmpty =
      "SELECT NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public') AS value";
    const processes = `SELECT count(*)::integer AS value FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'plinth' AND pid <> pg_backend_pid()`;
    return {
      postgres: await majorVersion(runner),
      isEmpty: await value<boolean>(runner, isEmpty),
      processes: await value<number>(runner, processes),
      clear: async () => {
        await runner.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      },
      forgetVectorPrefix: async () => {
        await runner.query('UPDATE installation SET vector_prefix = NULL');
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** One connection, which keeps its locks and its transaction until it is closed. */
async function connect(
  url: string | undefined,
  store?: EmbeddedStore,
): Promise<{ runner: Runner; close: () => Promise<void> }> {
  const source = createDataSource({ url, embedded: store?.database, poolSize: 1 });
  await source.initialize();
  const runner = source.createQueryRunner();
  const close = async (): Promise<void> => {
    await runner.release();
    await source.destroy();
  };
  return { runner, close };
}

async function majorVersion(runner: Runner): Promise<number> {
  const version = "SELECT current_setting('server_version_num')::integer AS value";
  return Math.floor((await value<number>(runner, version)) / 10_000);
}

async function value<T>(runner: Runner, sql: string): Promise<T> {
  const [row] = await runner.manager.query<{ value: T }[]>(sql);
  if (row === undefined) throw new Error('The statement has no row.');
  return row.value;
}
