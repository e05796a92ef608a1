import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { lockDirectory } from './directory-lock.js';

// PGlite must be opened with the same extensions every time: a missing one fails the start.
const extensions = { vector };

/**
 * The whole postgresql.conf of the embedded database, which PGlite writes at every start. What stands there by default is
 * made for a server of many clients: 128 MB of shared buffers stay in the memory of the process once they were used.
 */
const SETTINGS = [
  'shared_buffers = 64MB',
  'max_connections = 10',
  "timezone = 'UTC'",
  "default_text_search_config = 'pg_catalog.english'",
];

/**
 * How much of a WebAssembly function runs before V8 compiles it a second time, optimized: 20 times V8's default. With the default
 * a start alone has it optimize what only a start uses, which takes 0.6 s of CPU and 300 MB. The largest functions of
 * PostgreSQL are what takes so much.
 */
const OPTIMIZE_AFTER = '--wasm-tiering-budget=260000000';

export interface EmbeddedStore {
  readonly database: PGlite;
  close(): Promise<void>;
}

/**
 * Opens PostgreSQL inside this process (PGlite, WebAssembly) on DATA_DIR/pg.
 * Throws DirectoryInUseError when another process has it open.
 */
export async function openEmbedded(dataDir: string): Promise<EmbeddedStore> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lockDirectory(dataDir);
  try {
    setFlagsFromString(OPTIMIZE_AFTER);
    const database = await PGlite.create({
      dataDir: join(dataDir, 'pg'),
      extensions,
      postgresqlconf: SETTINGS,
    });
    return {
      database,
      close: async () => {
        await database.close();
        await unlock();
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** An embedded store in memory, filled from a dump; for tests, which share one migrated template. */
export async function openInMemory(dump?: Blob): Promise<PGlite> {
  setFlagsFromString(OPTIMIZE_AFTER);
  return PGlite.create({ extensions, ...(dump && { loadDataDir: dump }) });
}
