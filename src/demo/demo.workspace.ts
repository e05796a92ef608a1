import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../platform/config/index.js';
import { demoWorkspaceFiles } from './demo.workspace.files.js';

/** The folder of the demo’s repository below the tenant’s workspaces. */
export const DEMO_WORKSPACE = 'example';

/**
 * Creates the demo repository in the default workspaces of the tenant, and not where HARNESS_ROOTS is set. An existing
 * folder is not changed. Atomic: the repository appears completely or not at all.
 */
export async function writeDemoWorkspace(config: Config, tenantId: string): Promise<void> {
  if (!config.embedded || config.HARNESS_ROOTS.length > 0) return;
  const root = join(config.DATA_DIR, 'workspaces', tenantId);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const unfinished = await mkdtemp(join(root, '.demo-'));
  try {
    for (const { path, text } of demoWorkspaceFiles) {
      const file = join(unfinished, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    await rename(unfinished, join(root, DEMO_WORKSPACE));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!isTaken(error)) throw error;
  }
}

/** A rename does not replace a folder that is not empty. */
function isTaken(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code);
}
