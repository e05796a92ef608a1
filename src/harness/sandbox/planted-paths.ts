import { randomUUID } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { yieldingChunks } from '../protocol/yielding-chunks.js';
import { bufferOf, bytesOf, entriesIn, joined, plantedPathsIn, textOf } from './workspace-scan.js';
import type { BytePath, ProtectedPath } from './workspace-scan.js';

const LIMIT_MS = 10 * 60 * 1_000;
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const MOVED_AT_ONCE = 16;
const MAX_SORTED_PATHS = 10_000;
/** The longest path of a folder of which every name can be reached by its path. */
const FOLDER_BYTES = 4_096 - 256 - 1;
const OWNER = 0o700;

/** Outcome of `removePlantedPaths`. */
export interface Tidied {
  /** Paths below the workspace, in order unless there are more than 10,000. */
  readonly removed: string[];
  /** Whether folders were opened that the service could not look through. */
  readonly opened: boolean;
}

/**
 * Moves what a command has made under a protected name, and repositories that it has made, out of the workspace: other
 * programs would run or obey them. What was there before, by its name and identity, stays, wherever it is now, unless it
 * has become part of a repository. No command may run in the workspace meanwhile. They are moved to a new folder below
 * `kept`; files that cannot be copied to another file system are removed. Continues when one cannot be moved, and fails
 * at the end; fails also after ten minutes, and with the signal's reason when that aborts. Moved paths stay moved.
 */
export async function removePlantedPaths(
  root: string,
  before: readonly ProtectedPath[],
  { kept, signal: callerSignal }: { readonly kept: string; readonly signal?: AbortSignal },
): Promise<Tidied> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const signal = callerSignal ? AbortSignal.any([callerSignal, limit]) : limit;
  const into = bytesOf(join(kept, `${Date.now()}-${randomUUID()}`));
  const removed: string[] = [];
  let hasOpened = false;
  for (;;) {
    const { planted, opened } = await plantedPathsIn(root, before, signal);
    hasOpened ||= opened;
    // Contents of repository parts are scanned once those are no longer part of a repository.
    if (planted.length === 0) {
      // Sorting more would block the process.
      if (removed.length <= MAX_SORTED_PATHS) removed.sort();
      return { removed, opened: hasOpened };
    }
    await moveAll(bytesOf(root), planted, { into, signal });
    for await (const piece of yieldingChunks(planted)) removed.push(...piece.map(textOf));
  }
}

async function moveAll(
  root: BytePath,
  planted: readonly BytePath[],
  { into, signal }: { readonly into: BytePath; readonly signal: AbortSignal },
): Promise<void> {
  const failures: unknown[] = [];
  for (let start = 0; start < planted.length; start += MOVED_AT_ONCE) {
    signal.throwIfAborted();
    const moves = planted
      .slice(start, start + MOVED_AT_ONCE)
      .map((path) => move(`${root}/${path}`, { path, into, signal }));
    for (const move of await Promise.allSettled(moves)) {
      if (move.status === 'rejected') failures.push(move.reason);
    }
  }
  if (failures.length === 0) return;
  signal.throwIfAborted();
  const count = failures.length;
  const message = `${count} protected paths that a command had made could not be removed from the workspace.`;
  throw new AggregateError(failures, message);
}

async function move(
  from: BytePath,
  {
    path,
    into,
    signal,
  }: { readonly path: BytePath; readonly into: BytePath; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await renameInto(from, `${into}/${path}`);
  } catch (error) {
    switch (codeOf(error)) {
      case 'ENOENT':
        return;
      case 'EXDEV':
        await copy(from, `${into}/${path}`);
        await removeTree(from, signal);
        return;
      case 'EACCES':
      case 'EPERM':
        // A command may have taken the right to remove it, also from the folder that it is in.
        await openForOwner(from.slice(0, from.lastIndexOf('/')));
        await openForOwner(from);
        break;
      default:
      // The path is too long below the other folder, or taken.
    }
    await renameInto(from, `${into}/${randomUUID()}`).catch(async (again: unknown) => {
      if (codeOf(again) === 'ENOENT') return;
      await removeTree(from, signal);
    });
  }
}

async function renameInto(from: BytePath, to: BytePath): Promise<void> {
  const folder = bufferOf(to.slice(0, to.lastIndexOf('/')));
  await mkdir(folder, { recursive: true, mode: OWNER });
  await rename(bufferOf(from), bufferOf(to));
}

/** Copies as much as it can: the source is removed in any case. */
async function copy(from: BytePath, to: BytePath): Promise<void> {
  const isCopied = async (path: string): Promise<boolean> => {
    const stats = await lstat(path);
    return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
  };
  const options = { recursive: true, verbatimSymlinks: true, filter: isCopied };
  await mkdir(dirname(textOf(to)), { recursive: true, mode: OWNER }).catch(() => undefined);
  await cp(textOf(from), textOf(to), options).catch(() => undefined);
}

/**
 * Removes a file or a folder with all that is in it, whatever its names and modes are and however deep it is. Fails with
 * the signal's reason when that aborts.
 */
async function removeTree(top: BytePath, signal: AbortSignal): Promise<void> {
  const stats = await lstat(bufferOf(top)).catch(() => undefined);
  if (!stats?.isDirectory()) {
    if (stats) await unlink(bufferOf(top));
    return;
  }
  const pending = [top];
  for (let folder = pending.at(-1); folder !== undefined; folder = pending.at(-1)) {
    signal.throwIfAborted();
    await openForOwner(folder);
    const entries = await entriesIn(folder);
    if (entries.length === 0) {
      await rmdir(bufferOf(folder));
      pending.pop();
    }
    for (const entry of entries) {
      const path = joined(folder, entry.name);
      if (!entry.isDirectory()) await unlink(bufferOf(path));
      else if (path.length <= FOLDER_BYTES) pending.push(path);
      else {
        await openForOwner(path);
        await rename(bufferOf(path), bufferOf(`${top}/${randomUUID()}`));
      }
    }
  }
}

/** Fails where the folder belongs to another user. */
async function openForOwner(path: BytePath): Promise<void> {
  const stats = await lstat(bufferOf(path));
  const isOpen = !stats.isDirectory() || (stats.mode & OWNER) === OWNER;
  if (!isOpen) await chmod(bufferOf(path), (stats.mode & 0o777) | OWNER);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Removes what was moved to the folder more than 30 days ago; ends soon after the signal. */
export async function forgetPlantedPaths(storeFolder: string, signal: AbortSignal): Promise<void> {
  for (const name of await readdir(storeFolder).catch(() => [])) {
    const movedAt = Number.parseInt(name, 10);
    if (movedAt > Date.now() - KEPT_MS) continue;
    await removeTree(bytesOf(join(storeFolder, name)), signal).catch(() => undefined);
  }
}
