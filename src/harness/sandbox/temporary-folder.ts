import { lstat, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'plinth-sandbox-';
/** Longer than any command may take. */
const OLD_MS = 60 * 60 * 1_000;

/** Lends a new folder that only the service's user can enter, and removes it with all that is in it. */
export async function withTemporaryFolder<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), PREFIX)));
  try {
    return await use(folder);
  } finally {
    // What cannot be removed now is left to `removeOldFolders`: no work has failed for it.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Removes what services that were killed have left. */
export async function removeOldFolders(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const found = await lstat(folder).catch(() => undefined);
    if (!found?.isDirectory() || found.mtimeMs > Date.now() - OLD_MS) continue;
    // No other process can have put anything in it.
    if (found.uid !== process.geteuid?.() || (found.mode & 0o077) !== 0) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}
