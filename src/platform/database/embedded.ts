import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import type { PGliteOptions } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { packageFolder } from '../filesystem/index.js';
import { lockDirectory } from './directory-lock.js';

// PGlite must be opened with the same extensions every time: a missing one fails the start.
const extensions = { vector };

/** A global of Node, which the types of a browser declare. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** PostgreSQL as PGlite would load it by itself. */
const postgres = join(
  dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')),
  'pglite.wasm',
);

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
 * a start alone has it optimize what only a start uses, which takes 0.6 s of CPU and 300 MB.
 */
const OPTIMIZE_AFTER = '--wasm-tiering-budget=260000000';

/**
 * The budget while PostgreSQL starts. V8 lets a call or an iteration use up a quarter of this value at most, in the functions that it compiles
 * meanwhile: those are optimized after 8 million iterations, however long one is. PostgreSQL's parser is among them, a
 * loop of 105 KB that would be optimized after 30 statements, which takes 604 MB for a second or two
 * (V8 13.6, `--trace-wasm-compilation-times`). 16,000 statements later it was not.
 */
const COUNT_ITERATIONS = '--wasm-tiering-budget=128';

/** Keeps compiled code: otherwise V8 drops it when an idle process collects garbage, and compiles the parser again without the settings above. */
const KEEP_COMPILED = '--no-flush-liftoff-code';

/** Turns optimization off: a search takes 1.4 times as long, and the 604 MB are never needed. */
const OPTIMIZE_NEVER = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** Memory that suffices for the process, its database and the optimization of the largest function. */
const MIN_OPTIMIZING_MEMORY_BYTES = 2 * 2 ** 30;

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
    const folder = join(dataDir, 'pg');
    await placePrepared(folder);
    const database = await createDatabase({ dataDir: folder, postgresqlconf: SETTINGS });
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

/** Creates an empty database in a new folder, which the build keeps beside the built files for `openEmbedded`. */
export async function prepareEmbedded(folder: string): Promise<void> {
  const database = await createDatabase({ dataDir: folder, postgresqlconf: SETTINGS });
  await database.close();
}

/** Keeps the empty folders of the empty database in archives that have only files. PostgreSQL gets none of them. */
export const EMPTY_FOLDER_FILE = '.keep';

/** The folder of the empty database that the build creates. */
export function preparedFolder(): string {
  return join(packageFolder(import.meta.url), 'dist', 'database');
}

/**
 * Gives a first start a copy of the empty database of the build. Making one (initdb) takes 5 s of CPU and 730 MB, because PGlite runs
 * PostgreSQL a second time and keeps copies of its memory. It does so only where there is no build.
 */
async function placePrepared(folder: string): Promise<void> {
  const prepared = preparedFolder();
  if (existsSync(folder) || !existsSync(join(prepared, 'PG_VERSION'))) return;
  // The copy is renamed at its end, so that a start that is killed meanwhile leaves no incomplete database.
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  const isKept = (path: string): boolean => basename(path) !== EMPTY_FOLDER_FILE;
  await cp(prepared, draft, { recursive: true, filter: isKept });
  // PostgreSQL refuses a folder that others can read.
  await chmod(draft, 0o700);
  await rename(draft, folder);
}

/**
 * Puts a database from PGlite's dump into DATA_DIR/pg, in place of one that is there. One whose last step is a rename, so that an
 * interrupted restore leaves what was there before. Throws DirectoryInUseError while a process has it open.
 */
export async function restoreEmbedded(dataDir: string, dump: Blob): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lockDirectory(dataDir);
  try {
    const folder = join(dataDir, 'pg');
    const draft = `${folder}.new`;
    await rm(draft, { recursive: true, force: true });
    const database = await createDatabase({
      dataDir: draft,
      loadDataDir: dump,
      postgresqlconf: SETTINGS,
    });
    await database.query('SELECT count(*) FROM migrations');
    await database.close();
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
  } finally {
    await unlock();
  }
}

/** Starts PostgreSQL, compiled as the memory that this process may use allows: that of the machine or of its control group. */
async function createDatabase(options: PGliteOptions): Promise<PGlite> {
  const limit = Math.min(process.constrainedMemory() || Infinity, totalmem());
  const isOptimized = limit >= MIN_OPTIMIZING_MEMORY_BYTES;
  for (const flag of isOptimized ? [OPTIMIZE_AFTER, KEEP_COMPILED] : OPTIMIZE_NEVER)
    setFlagsFromString(flag);
  const pgliteWasmModule = await WebAssembly.compile(await readFile(postgres));
  try {
    if (isOptimized) setFlagsFromString(COUNT_ITERATIONS);
    return await PGlite.create({ ...options, extensions, pgliteWasmModule });
  } finally {
    setFlagsFromString(OPTIMIZE_AFTER);
  }
}

/** An embedded store in memory, filled from a dump; for tests, which share one migrated template. */
export async function openInMemory(dump?: Blob): Promise<PGlite> {
  return createDatabase({ ...(dump && { loadDataDir: dump }) });
}
