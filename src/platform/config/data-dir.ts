import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { ConfigError } from './config-error.js';

/** Entries of DATA_DIR that the service creates, or that a file system puts into the root of a volume. */
const OWN = new Set([
  'answers',
  'books',
  'demo.json',
  'files',
  'harness',
  'initial-password',
  'installation.json',
  'lost+found',
  'parsing',
  'pg',
  'pg.new',
  'plinth.sock',
  'plinth.take',
  'secret.key',
  'workspaces',
]);

const OTHERS = 0o007;
const GROUP_AND_OTHERS = 0o077;

/**
 * Closes DATA_DIR to other users of the host: the embedded database and the key in it to all of them, the files of a service
 * on a server to all but the group, which its processes may share. A mode that the folder has already is changed only where
 * the folder is the service's own. ConfigError with the command to run where it cannot be closed.
 */
export function closeDataDir(dataDir: string, embedded: boolean, chmod = chmodSync): void {
  // Windows has no such modes: there a folder has the permissions of the one it is in.
  if (process.platform === 'win32') return;
  if (embedded) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const stats = statSync(dataDir, { throwIfNoEntry: false });
  if (!stats) return;
  const open = stats.mode & (embedded ? GROUP_AND_OTHERS : OTHERS);
  if (open === 0) return;
  const mode = octal(stats.mode & ~open);
  const problem = `DATA_DIR ${dataDir} is open to other users of this machine (mode ${octal(stats.mode)})`;
  const foreign = readdirSync(dataDir).find((name) => !OWN.has(name));
  if (foreign !== undefined) {
    throw new ConfigError(
      `${problem} and holds files that are not Plinth's, such as ${foreign}. Set DATA_DIR to a folder of its own, or run: chmod ${mode} ${quoted(dataDir)}`,
    );
  }
  try {
    chmod(dataDir, Number.parseInt(mode, 8));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // The group is the operator's choice where the folder belongs to another user, such as a volume of Kubernetes.
    if ((stats.mode & OTHERS) === 0) return;
    const remedy = changeOfOwner(dataDir) ?? `Run as its owner: chmod ${mode} ${quoted(dataDir)}`;
    throw new ConfigError(`${problem}, and this process may not change that (${code}). ${remedy}`);
  }
}

/** The message to the operator for a system error in DATA_DIR. */
export function dataDirProblem(dataDir: string, error: NodeJS.ErrnoException): string {
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM';
  const remedy =
    (isDenied && changeOfOwner(dataDir, error.path)) ||
    'Set it to a folder that this user may write to.';
  return `DATA_DIR ${dataDir} cannot be used: ${error.message}. ${remedy}`;
}

/** The command for a folder, or a file in it, that belongs to another user; undefined where neither is known to. */
function changeOfOwner(dataDir: string, path = dataDir): string | undefined {
  const uid = process.geteuid?.();
  const owner = [dataDir, path].map(ownerOf).find((one) => one !== undefined && one !== uid);
  if (uid === undefined || owner === undefined) return undefined;
  const command = `chown -R ${uid}:${process.getegid?.()} ${quoted(dataDir)}`;
  return `It belongs to user ${owner}, and this process runs as user ${uid}. Run as root (for a folder that is mounted into a container, on the host and with its path there): ${command}`;
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
