import { readFileSync } from 'node:fs';

/** What process.umask() would answer, which cannot ask without setting it for a moment, for all threads. */
function umask(): number {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    return Number.parseInt(/^Umask:\s*([0-7]+)$/m.exec(status)?.[1] ?? '022', 8);
  } catch {
    return 0o022;
  }
}

const NEW_FILE_MODE = 0o644 & ~umask();

/** Permission bits of a file that was not there before. */
export function newFileMode(): number {
  return NEW_FILE_MODE;
}
