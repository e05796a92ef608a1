import { randomUUID } from 'node:crypto';
import { cp, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bufferOf, textOf } from './mount.js';
import { protectedPathsIn, type ProtectedPath } from './workspace-scan.js';

const LIMIT_MS = 60_000;
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

/**
 * Moves what a command has made under a protected name, and repositories that it has made, out of the workspace: other
 * programs would run or obey them. What was there before, by its device and inode, stays, wherever it is now. No command may run in
 * the workspace meanwhile. Answers their paths below the workspace, in order; they are in a new folder below `kept` then. Fails with ToolError TOO_LARGE where the
 * workspace is too large to look through.
 */
export async function removePlantedPaths(
  root: string,
  before: readonly ProtectedPath[],
  kept: string,
): Promise<string[]> {
  const known = new Set(before.map(([, identity]) => identity));
  const into = join(kept, `${Date.now()}-${randomUUID()}`);
  const planted: string[] = [];
  for (const [path, identity] of await protectedPathsIn(root, AbortSignal.timeout(LIMIT_MS))) {
    if (known.has(identity)) continue;
    await move(Buffer.concat([Buffer.from(`${root}/`), bufferOf(path)]), join(into, textOf(path)));
    planted.push(textOf(path));
  }
  return planted.sort();
}

async function move(from: Buffer, to: string): Promise<void> {
  if (!(await lstat(from).catch(() => undefined))) return;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from.toString(), to, { recursive: true, verbatimSymlinks: true });
    await rm(from, { recursive: true, force: true });
  }
}

/** Removes what was moved to the folder more than 30 days ago. */
export async function forgetPlantedPaths(kept: string): Promise<void> {
  for (const name of await readdir(kept).catch(() => [])) {
    const movedAt = Number.parseInt(name, 10);
    if (movedAt > Date.now() - KEPT_MS) continue;
    await rm(join(kept, name), { recursive: true, force: true }).catch(() => undefined);
  }
}
