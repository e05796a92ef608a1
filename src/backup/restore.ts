import { createHash } from 'node:crypto';
import { createGunzip } from 'node:zlib';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Config } from '../platform/config/index.js';
import { isNewerMigration, restoreEmbedded } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { isMissing } from '../platform/filesystem/index.js';
import type { FileStorage } from '../platform/storage/index.js';
import { HARNESS } from './backup.js';
import { BackupError, DUMPS, PATHS } from './backup.format.js';
import type { Entry, Manifest } from './backup.format.js';
import { BackupReader } from './backup.objects.js';
import type { BackupSize } from './backup.objects.js';
import type { BackupPlace } from './backup.place.js';
import { openTarget } from './backup.repository.js';
import { inLanes } from './lanes.js';
import { findProgram, missingProgram, readDump, restoreDatabase } from './postgres.programs.js';

/** Where the word "ustar" and its version end in the first header of an archive (POSIX tar). */
const ARCHIVE_MAGIC_END = 265;

export interface VerifyResult extends BackupSize {
  readonly manifest: Manifest;
  /** Whether pg_restore has read the dump as well; without it only its checksum is known to be right. */
  readonly isDumpRead: boolean;
}

/** Reads every object of the backup, without a database. BackupError for what is missing, changed or cut off. */
export async function verifyBackup(
  place: BackupPlace,
  key: string | undefined,
): Promise<VerifyResult> {
  const reader = await BackupReader.open(place, key);
  const { manifest } = reader;
  let isDumpRead = false;
  let bytes = 0;
  const paths = new Set<string>();
  await inLanes(reader.entries(), async (entry) => {
    paths.add(entry.path);
    bytes += entry.bytes;
    if (entry.path === DUMPS.postgresql) {
      isDumpRead = await isReadable(manifest, reader.read(entry));
      if (isDumpRead) return;
    }
    if (entry.path === DUMPS.embedded) isDumpRead = await isArchive(reader.read(entry));
    else await drain(reader.read(entry));
  });
  if (!paths.has(DUMPS[manifest.store])) throw new BackupError('The backup has no database.');
  return { manifest, isDumpRead, objects: paths.size, bytes };
}

export interface RestoreOptions {
  readonly config: Config;
  readonly files: FileStorage;
  /** Whether an existing database is replaced. */
  readonly replaces: boolean;
}

/**
 * Restores the files, then the database as a whole or not at all. Interrupted, it is repeated: files that are there already are
 * compared and skipped. BackupError, before anything is changed, where the backup does not fit.
 */
export async function restoreBackup(
  options: RestoreOptions,
  place: BackupPlace,
): Promise<VerifyResult> {
  const { config, files } = options;
  const reader = await BackupReader.open(place, config.BACKUP_KEY);
  const { manifest } = reader;
  if (isNewerMigration(manifest.lastMigration)) throw new NewerBackupError(manifest);
  const store = config.embedded ? 'embedded' : 'postgresql';
  if (manifest.store !== store) {
    throw new BackupError(
      config.embedded
        ? 'The backup is of a PostgreSQL server. Set DATABASE_URL to an empty database.'
        : 'The backup is of an embedded database. Restore it without DATABASE_URL.',
    );
  }
  const database = config.embedded
    ? embeddedTarget(options)
    : await serverTarget(options, manifest);
  try {
    // Everything is known to be intact before the first change.
    const verified = await verifyBackup(place, config.BACKUP_KEY);
    const dumps: Entry[] = [];
    await inLanes(reader.entries(), async (entry) => {
      if (entry.path === DUMPS[store]) dumps.push(entry);
      else await restoreObject(reader, entry, config.DATA_DIR, files);
    });
    const [dump] = dumps;
    if (!dump) throw new BackupError('The backup has no database.');
    await database.restore(reader.read(dump));
    return verified;
  } finally {
    await database.close();
  }
}

class NewerBackupError extends BackupError {
  constructor({ release, lastMigration }: Manifest) {
    super(
      `The backup was made by a newer release (${release}, ${lastMigration}). Restore it with that release.`,
    );
  }
}

interface DatabaseTarget {
  restore(dump: AsyncIterable<Buffer>): Promise<void>;
  close(): Promise<void>;
}

function embeddedTarget({ config, replaces }: RestoreOptions): DatabaseTarget {
  if (!replaces && existsSync(join(config.DATA_DIR, 'pg'))) {
    throw new BackupError(
      `DATA_DIR ${config.DATA_DIR} has a database already. Set DATA_DIR to an empty folder, or replace the database with --replace.`,
    );
  }
  return {
    restore: async (dump) => {
      const parts: Uint8Array<ArrayBuffer>[] = [];
      for await (const part of dump) parts.push(Uint8Array.from(part));
      await restoreEmbedded(config.DATA_DIR, new Blob(parts));
    },
    close: () => Promise.resolve(),
  };
}

async function serverTarget(
  { config, files, replaces }: RestoreOptions,
  manifest: Manifest,
): Promise<DatabaseTarget> {
  const url = config.DATABASE_URL ?? '';
  const target = await openTarget(url);
  try {
    if (target.processes > 0) {
      throw new BackupError(
        'Processes of Plinth use the database. Stop them all, restore, and start them again.',
      );
    }
    if (!replaces && !target.isEmpty) {
      throw new BackupError(
        'The database is not empty. Set DATABASE_URL to an empty one, or replace everything in it with --replace.',
      );
    }
    if (target.postgres < manifest.postgres) {
      throw new BackupError(
        `The backup is of PostgreSQL ${manifest.postgres}, and the server is version ${target.postgres}. Restore it to ${manifest.postgres} or newer.`,
      );
    }
    const program = await findProgram('pg_restore', target.postgres);
    if (program === undefined) throw missingProgram('pg_restore', target.postgres);
    return {
      restore: async (dump) => {
        await target.clear();
        await restoreDatabase(program, url, dump);
        // A storage that belongs to no database gets an id of its own at the start, and with it collections of its own.
        const isMarked = files.objects
          ? await files.objects.stat('installation.json')
          : existsSync(join(config.DATA_DIR, 'installation.json'));
        if (!isMarked) await target.forgetVectorPrefix();
      },
      close: () => target.close(),
    };
  } catch (error) {
    await target.close();
    throw error;
  }
}

async function restoreObject(
  reader: BackupReader,
  entry: Entry,
  dataDir: string,
  files: FileStorage,
): Promise<void> {
  const [area = '', ...rest] = entry.path.split('/');
  if (area === 'files') return restoreFile(reader, entry, rest.join('/'), files);
  if (area === HARNESS.path) {
    const [tenantId = '', , hash = ''] = rest;
    await files.objects?.write(`${area}/${tenantId}/${hash}`, Readable.from(reader.read(entry)));
    return restoreBeside(reader, entry, join(dataDir, HARNESS.folder, ...rest));
  }
  if (entry.path === PATHS.secretKey) {
    const path = join(dataDir, PATHS.secretKey);
    if (existsSync(path) && hashOf(await readFile(path)) !== entry.sha256) {
      throw new BackupError(
        `${path} is another key than that of the backup. Move it away, or set DATA_DIR to an empty folder.`,
      );
    }
    return restoreBeside(reader, entry, path);
  }
  throw new BackupError(`${entry.path} is nothing that this release can restore.`);
}

async function restoreFile(
  reader: BackupReader,
  entry: Entry,
  key: string,
  files: FileStorage,
): Promise<void> {
  try {
    if ((await hashOfContent(await files.read(key))) === entry.sha256) return;
    await files.remove(key);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  const { signal } = new AbortController();
  await files.write(key, Readable.from(reader.read(entry)), { limitBytes: entry.bytes, signal });
}

async function restoreBeside(reader: BackupReader, entry: Entry, path: string): Promise<void> {
  try {
    if (hashOf(await readFile(path)) === entry.sha256) return;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const draft = `${path}.restoring`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(draft, reader.read(entry), { mode: 0o600, flush: true });
  await rename(draft, path);
}

/** Whether pg_restore of the version is here; it has then read the dump to its end. */
async function isReadable(manifest: Manifest, dump: AsyncIterable<Buffer>): Promise<boolean> {
  const program = await findProgram('pg_restore', manifest.postgres);
  if (program === undefined) return false;
  await readDump(program, dump);
  return true;
}

/** Reads PGlite's dump, a compressed archive of its data folder, to its end. */
async function isArchive(dump: AsyncIterable<Buffer>): Promise<boolean> {
  let start = Buffer.alloc(0);
  await pipeline(Readable.from(dump, { objectMode: false }), createGunzip(), async (content) => {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      if (start.length < ARCHIVE_MAGIC_END) start = Buffer.concat([start, chunk]);
    }
  });
  if (start.toString('latin1', ARCHIVE_MAGIC_END - 8, ARCHIVE_MAGIC_END - 3) !== 'ustar') {
    throw new BackupError(`${DUMPS.embedded} is no dump of an embedded database.`);
  }
  return true;
}

async function drain(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of content) void chunk;
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function hashOfContent(content: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
