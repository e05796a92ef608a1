import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  BackupBucket,
  BackupError,
  BackupFolder,
  makeBackup,
  restoreBackup,
  verifyBackup,
} from './backup/index.js';
import type { BackupPlace, VerifyResult } from './backup/index.js';
import { UsageError } from './command.js';
import { ConfigError, keyId, loadConfig, variables } from './platform/config/index.js';
import type { Config } from './platform/config/index.js';
import { DirectoryInUseError } from './platform/database/index.js';
import { Dependency } from './platform/dependency/index.js';
import { DomainError } from './platform/error/index.js';
import { packageFolder } from './platform/filesystem/index.js';
import { startFailure } from './platform/observability/index.js';
import { ObjectStorage, openFileStorage } from './platform/storage/index.js';
import type { FileStorage } from './platform/storage/index.js';

const USAGE = `Backs up the database and the files, and restores them.

  npm run backup -- PLACE               into a new folder, or s3://bucket/prefix as in STORAGE_URL
  npm run verify -- PLACE               reads everything in it
  npm run restore -- PLACE [--replace]  into an empty set-up, or in place of an existing one

BACKUP_KEY encrypts. See docs/OPERATIONS.md, Backup and restore.`;

/** Stands for settings that a command does not use and `loadConfig` would demand or generate. */
const UNUSED_KEY = 'unused-unused-unused-unused-unused';

const COMMANDS = new Map([
  ['create', create],
  ['verify', verify],
  ['restore', restore],
]);

let config: Config | undefined;
try {
  process.exit(await run());
} catch (error) {
  process.stderr.write(`${explanationOf(error)}\n`);
  process.exit(error instanceof UsageError || error instanceof ConfigError ? 2 : 1);
}

async function run(): Promise<number> {
  const [name = '', ...args] = process.argv.slice(2);
  const command = COMMANDS.get(name);
  if (!command) throw new UsageError(USAGE);
  const { address, replaces } = readArguments(args);
  const result = await command(address, replaces);
  process.stdout.write(`${result}\n`);
  return 0;
}

function readArguments(args: string[]): { address: string; replaces: boolean } {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { replace: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [address, ...others] = positionals;
    if (address === undefined || others.length > 0) throw new Error('Name one folder or bucket.');
    return { address, replaces: values.replace };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

async function create(address: string): Promise<string> {
  config = loadConfig(process.env);
  const place = await placeOf(address, config);
  const source = { config, files: await filesOf(config), release: releaseOf() };
  const { objects, bytes, missingFiles, vectorStores } = await makeBackup(source, place);
  return [
    `Backup of ${objects} objects, ${sizeOf(bytes)}, in ${place.name}.`,
    ...(config.BACKUP_KEY === undefined ? ['It is not encrypted: BACKUP_KEY is not set.'] : []),
    ...(missingFiles > 0
      ? [`${missingFiles} files have a record and no content; they were missing before.`]
      : []),
    ...vectorLines(vectorStores),
  ].join('\n');
}

async function verify(address: string): Promise<string> {
  // Any machine can verify a backup: it needs neither the database nor DATA_DIR.
  config = loadConfig({
    ...process.env,
    SECRET_KEY: UNUSED_KEY,
    SECRET_KEY_FILE: '',
    DATABASE_URL: 'postgres://127.0.0.1/unused',
    DATABASE_URL_FILE: '',
  });
  const result = await verifyBackup(await placeOf(address, config), config.BACKUP_KEY);
  return [`Complete: ${summaryOf(result)}`, ...dumpLines(result)].join('\n');
}

async function restore(address: string, replaces: boolean): Promise<string> {
  const generated = join(resolve(process.env['DATA_DIR'] ?? './data'), 'secret.key');
  // A key that is generated now would stand in the way of the one in the backup.
  const isSet = ['SECRET_KEY', 'SECRET_KEY_FILE'].some((name) => process.env[name]?.trim());
  const isGenerated = !isSet && !existsSync(generated);
  config = loadConfig({ ...process.env, ...(isGenerated && { SECRET_KEY: UNUSED_KEY }) });
  const place = await placeOf(address, config);
  const result = await restoreBackup({ config, files: await filesOf(config), replaces }, place);
  const { encryptionKeys } =
    isGenerated && existsSync(generated) ? loadConfig(process.env) : config;
  const keys = [encryptionKeys.current, encryptionKeys.previous ?? encryptionKeys.current];
  const { secretKeyId, vectorStores } = result.manifest;
  return [
    `Restored: ${summaryOf(result)} Start the service.`,
    ...(keys.some((key) => keyId(key) === secretKeyId)
      ? []
      : [
          'SECRET_KEY is not the key with which the credentials were encrypted. Set it to that key before the start.',
        ]),
    ...vectorLines(vectorStores),
  ].join('\n');
}

function filesOf(config: Config): FileStorage | Promise<FileStorage> {
  return openFileStorage(config, new Dependency('files'));
}

/** The address has the form of STORAGE_URL; credentials are found as for that. */
async function placeOf(address: string, { outbound }: Config): Promise<BackupPlace> {
  if (!address.startsWith('s3://')) {
    // npm runs scripts in the folder of the package, not in the current one.
    return new BackupFolder(resolve(process.env['INIT_CWD'] ?? '.', address));
  }
  const bucket = variables.STORAGE_URL.schema.safeParse(address);
  if (!bucket.data) throw new UsageError(`${address} ${bucket.error?.issues[0]?.message}.`);
  const { objects } = await ObjectStorage.open(bucket.data, outbound, new Dependency('files'));
  return new BackupBucket(address.replace(/\?.*$/, ''), objects);
}

function releaseOf(): string {
  const file = join(packageFolder(import.meta.url), 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function summaryOf({ objects, bytes, manifest }: VerifyResult): string {
  const { createdAt, release, store, postgres } = manifest;
  const database = store === 'embedded' ? 'embedded database' : `PostgreSQL ${postgres}`;
  return `${objects} objects, ${sizeOf(bytes)}, ${database}, release ${release}, of ${createdAt}.`;
}

function dumpLines({ isDumpRead, manifest }: VerifyResult): string[] {
  if (isDumpRead) return [];
  return [
    `The checksum of the dump is right; it was not read further, because pg_restore ${manifest.postgres} is not installed.`,
  ];
}

function vectorLines(stores: readonly string[]): string[] {
  if (!stores.includes('qdrant')) return ['Vectors are in the database.'];
  return [
    'Vectors in Qdrant are not in the backup. A service that misses them makes them again (docs/KNOWLEDGE.md, Lost vectors).',
  ];
}

function sizeOf(bytes: number): string {
  return bytes < 10 ** 9
    ? `${(bytes / 10 ** 6).toFixed(1)} MB`
    : `${(bytes / 10 ** 9).toFixed(1)} GB`;
}

function explanationOf(error: unknown): string {
  if (error instanceof DirectoryInUseError) {
    return `Plinth is running on ${config?.DATA_DIR ?? 'this folder'}, and the embedded database serves one process. Stop the service, run this again, and start it.`;
  }
  if (error instanceof UsageError || error instanceof BackupError || error instanceof DomainError) {
    return error.message;
  }
  return startFailure(error, config);
}
