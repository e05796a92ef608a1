import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { keyId } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { openEmbedded } from '../platform/database/index.js';
import type { EmbeddedStore } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { isMissing } from '../platform/filesystem/index.js';
import type { FileStorage } from '../platform/storage/index.js';
import { BackupError, DUMPS, PATHS } from './backup.format.js';
import { BackupWriter } from './backup.objects.js';
import type { BackupSize } from './backup.objects.js';
import type { BackupPlace } from './backup.place.js';
import { openSnapshot } from './backup.repository.js';
import type { DatabaseSnapshot } from './backup.repository.js';
import { inLanes } from './lanes.js';
import { dumpDatabase, findProgram, missingProgram } from './postgres.programs.js';

/** The folder of DATA_DIR with the contents that the coding harness keeps, and its place in a backup. */
export const HARNESS = { folder: join('harness', 'blobs'), path: 'harness' };

export interface BackupSource {
  readonly config: Config;
  readonly files: FileStorage;
  readonly release: string;
}

export interface BackupResult extends BackupSize {
  readonly missingFiles: number;
  readonly vectorStores: readonly string[];
}

/**
 * Backs the database, the files and, of an embedded set-up, the generated key up. The service on a server goes on meanwhile: the
 * dump and the list of files are of one snapshot, files are stored before their records, and contents of records that are deleted
 * meanwhile stay until the end. The embedded database serves one process: DirectoryInUseError while the service runs.
 */
export async function makeBackup(source: BackupSource, place: BackupPlace): Promise<BackupResult> {
  const { config, files, release } = source;
  const store = await openStore(config);
  const snapshot = await openSnapshot(config.DATABASE_URL, store);
  if (!snapshot) {
    await store?.close();
    throw new BackupError('The database is empty. Start the service once.');
  }
  try {
    const dump = await dumpOf(config, snapshot, store);
    const writer = await BackupWriter.begin(place, config.BACKUP_KEY);
    await writer.add(store ? DUMPS.embedded : DUMPS.postgresql, dump);
    const missingFiles = await addFiles(writer, snapshot, files);
    await addHarness(writer, join(config.DATA_DIR, HARNESS.folder), files);
    const secretKey = join(config.DATA_DIR, PATHS.secretKey);
    if (store && existsSync(secretKey)) {
      await writer.add(PATHS.secretKey, Readable.from([await readFile(secretKey)]));
    }
    const { postgres, lastMigration, vectorStores } = snapshot;
    const size = await writer.end({
      format: 1,
      createdAt: new Date().toISOString(),
      release,
      store: store ? 'embedded' : 'postgresql',
      postgres,
      lastMigration,
      secretKeyId: keyId(config.encryptionKeys.current),
      vectorStores,
      missingFiles,
    });
    return { ...size, missingFiles, vectorStores };
  } finally {
    await snapshot.close();
    await store?.close();
  }
}

async function openStore(config: Config): Promise<EmbeddedStore | undefined> {
  if (!config.embedded) return undefined;
  if (!existsSync(join(config.DATA_DIR, 'pg'))) {
    throw new BackupError(
      `DATA_DIR ${config.DATA_DIR} has no database. Set DATA_DIR or DATABASE_URL as for the service.`,
    );
  }
  return openEmbedded(config.DATA_DIR);
}

async function dumpOf(
  { DATABASE_URL: url = '' }: Config,
  { postgres, id }: DatabaseSnapshot,
  store: EmbeddedStore | undefined,
): Promise<AsyncIterable<Buffer>> {
  if (store) {
    const dump = await store.database.dumpDataDir('gzip');
    return Readable.fromWeb(dump.stream()) as AsyncIterable<Buffer>;
  }
  const program = await findProgram('pg_dump', postgres);
  if (program === undefined) throw missingProgram('pg_dump', postgres);
  return dumpDatabase(program, url, id);
}

/** Adds every file that has a record; the count of those without content. */
async function addFiles(
  writer: BackupWriter,
  snapshot: DatabaseSnapshot,
  files: FileStorage,
): Promise<number> {
  let missing = 0;
  await inLanes(snapshot.fileKeys(), async (key) => {
    try {
      await writer.add(`files/${key}`, (await files.read(key)) as AsyncIterable<Buffer>);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      missing += 1;
    }
  });
  return missing;
}

/** Adds the contents that the harness keeps: those of this machine, and those that only the object storage has. */
async function addHarness(writer: BackupWriter, folder: string, files: FileStorage): Promise<void> {
  const paths = new Set<string>();
  await inLanes(filesBelow(folder), async (file) => {
    const path = `${HARNESS.path}/${relative(folder, file).split(sep).join('/')}`;
    paths.add(path);
    await writer.add(path, createReadStream(file) as AsyncIterable<Buffer>);
  });
  if (!files.objects) return;
  const { objects } = files;
  await inLanes(objects.list(`${HARNESS.path}/`), async ({ name }) => {
    // harness/<tenant>/<hash>
    const [, tenantId = '', hash = ''] = name.split('/');
    const path = `${HARNESS.path}/${tenantId}/${hash.slice(0, 2)}/${hash}`;
    const content = paths.has(path) ? undefined : await objects.read(name);
    if (content) await writer.add(path, content as AsyncIterable<Buffer>);
  });
}

/** The complete files below the folder; drafts begin with a dot. */
async function* filesBelow(folder: string): AsyncGenerator<string> {
  let entries;
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
