import { open } from 'node:fs/promises';

/**
 * Writes a file that only the service may read. It fails with EEXIST where anything has the path already, a link included,
 * which is not followed.
 */
export async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
  } finally {
    await handle.close();
  }
}
