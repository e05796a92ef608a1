import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './chat/children.mjs';

/**
 * Runs a benchmark with a folder and processes of its own, and ends with its exit code; 1 when it throws. Whatever ends it,
 * the processes are stopped and the folder is removed, or kept with `keep`.
 */
export async function inOwnFolder(benchmark, { keep = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
  // PostgreSQL runs as another user when this runs as root, and must reach its own folder in here.
  chmodSync(folder, 0o711);
  const children = new Children();
  const tidy = async () => {
    await children.stopAll();
    if (keep) console.log(`Logs and data: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  };
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      interrupted = true;
      void tidy().finally(() => process.exit(130));
    });
  }
  try {
    process.exitCode = await benchmark({ children, folder });
  } catch (error) {
    if (!interrupted) console.error(error);
    process.exitCode = 1;
  } finally {
    await tidy();
  }
}
