import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../platform/config/index.js';
import { demoWorkspaceFiles } from './demo.workspace.files.js';

/** The folder of the demo’s repository below the tenant’s workspaces. */
export const DEMO_WORKSPACE = 'example';

/**
 * Puts the demo’s repository where the tenant’s sessions work unless the operator says otherwise; elsewhere it is
 * nobody’s business of ours. A folder that is there stays as it is. Whole or not at all.
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

/** A folder with something in it is not replaced by a rename. */
function isTaken(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code);
}
