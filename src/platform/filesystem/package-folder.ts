import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, which lies above both the sources and the built files; `module` is the URL of one of them. */
export function packageFolder(module: string): string {
  let folder = dirname(fileURLToPath(module));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`There is no package.json above ${module}.`);
    folder = parent;
  }
  return folder;
}
