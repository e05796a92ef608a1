import { chmod, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EMPTY_FOLDER_FILE, prepareEmbedded, preparedFolder } from './platform/database/index.js';

// Puts an empty embedded database beside the built files, which a first start copies.
const folder = preparedFolder();
await rm(folder, { recursive: true, force: true });
await prepareEmbedded(folder);
// The files belong to root in an image, and the service that copies them runs as another user.
for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  await chmod(path, entry.isDirectory() ? 0o755 : 0o644);
  if (entry.isDirectory() && (await readdir(path)).length === 0)
    await writeFile(join(path, EMPTY_FOLDER_FILE), '');
}
await chmod(folder, 0o755);
