import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The secret of the embedded set-up: generated once in secret.key of the existing folder, readable by its owner only. */
export function generatedSecret(dataDir: string): string {
  const file = join(dataDir, 'secret.key');
  try {
    // The flag 'wx' lets the first of two processes win; the other one reads its file.
    writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
