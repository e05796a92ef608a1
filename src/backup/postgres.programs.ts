import { execFile, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { childEnvironment } from '../platform/config/index.js';
import { BackupError } from './backup.format.js';

const MAX_ERROR_CHARS = 4_000;

/** Parameters of an address that libpq knows as well; others are node-postgres' own. */
const LIBPQ_PARAMETERS = new Set([
  'host',
  'options',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
]);

/** The program with PostgreSQL's major version: that of the PATH, or of Debian's folder for the version. undefined without one. */
export async function findProgram(
  name: 'pg_dump' | 'pg_restore',
  major: number,
): Promise<string | undefined> {
  for (const path of [name, `/usr/lib/postgresql/${major}/bin/${name}`]) {
    try {
      const { stdout } = await promisify(execFile)(path, ['--version']);
      if (Number(/(\d+)/.exec(stdout)?.[1]) === major) return path;
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

export function missingProgram(name: string, major: number): BackupError {
  return new BackupError(
    `${name} ${major} is needed, the version of the server, and is not on the PATH. Install postgresql-client-${major} (docs/OPERATIONS.md, Backup and restore).`,
  );
}

/** The dump of the database as the snapshot has it, in pg_dump's custom format. */
export async function* dumpDatabase(
  program: string,
  url: string,
  snapshot: string,
): AsyncGenerator<Buffer> {
  const { argument, environment } = connectionOf(url);
  const child = start(
    program,
    ['--format=custom', '--no-owner', '--no-privileges', `--snapshot=${snapshot}`, argument],
    environment,
  );
  child.stdin.end();
  const ended = endOf(child);
  try {
    yield* child.stdout;
  } finally {
    child.stdout.destroy();
  }
  await ended;
}

/** Restores the dump in one transaction. */
export async function restoreDatabase(
  program: string,
  url: string,
  dump: AsyncIterable<Buffer>,
): Promise<void> {
  const { argument, environment } = connectionOf(url);
  await feed(
    program,
    ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges', argument],
    dump,
    environment,
  );
}

/** Reads the whole dump without a database: its list and every row. */
export async function readDump(program: string, dump: AsyncIterable<Buffer>): Promise<void> {
  await feed(program, ['--file=/dev/null'], dump);
}

/** Starts a program with none of the secrets of the service in its environment. */
function start(
  program: string,
  args: readonly string[],
  environment = childEnvironment({}),
): ChildProcessWithoutNullStreams {
  return spawn(program, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
}

async function feed(
  program: string,
  args: readonly string[],
  dump: AsyncIterable<Buffer>,
  environment?: NodeJS.ProcessEnv,
): Promise<void> {
  const child = start(program, args, environment);
  child.stdout.resume();
  const ended = endOf(child);
  const [fed, end] = await Promise.allSettled([
    pipeline(Readable.from(dump, { objectMode: false }), child.stdin).catch((error: unknown) => {
      // A program that ends early says why by itself.
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
      child.kill();
      throw error;
    }),
    ended,
  ]);
  if (fed.status === 'rejected') throw fed.reason;
  if (end.status === 'rejected') throw end.reason;
}

/** Resolves when the program has ended with code 0. */
async function endOf(child: ChildProcessWithoutNullStreams): Promise<void> {
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text = `${text}${chunk.toString()}`.slice(-MAX_ERROR_CHARS);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new BackupError(`${child.spawnfile} failed: ${text.trim()}`);
}

/** The address as an argument, which other users of the machine can read, and the password in the environment. */
function connectionOf(url: string): { argument: string; environment: NodeJS.ProcessEnv } {
  const address = new URL(url);
  const password = decodeURIComponent(address.password);
  address.password = '';
  for (const name of [...address.searchParams.keys()]) {
    if (!LIBPQ_PARAMETERS.has(name)) address.searchParams.delete(name);
  }
  // node-postgres' name for encryption without a check of the certificate.
  if (address.searchParams.get('sslmode') === 'no-verify') {
    address.searchParams.set('sslmode', 'require');
  }
  return {
    argument: `--dbname=${address.href}`,
    environment: childEnvironment(password === '' ? {} : { PGPASSWORD: password }),
  };
}
