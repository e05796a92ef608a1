import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { ToolError } from '../fault/tool.error.js';
import { classifyPath, PROTECTED_FOLDERS } from '../workspace/protected-path.js';
import { bufferOf, bytesOf, foldersAbove, joined, ordered, textOf } from './mount.js';
import type { BytePath, Mount } from './mount.js';

/** Made by tools, and not worth protecting; secrets are looked for in them, too. */
const GENERATED: ReadonlySet<string> = new Set(['node_modules', 'target', 'dist', 'build']);

/** Folders of the root that hold protected ones and could be swapped for others. */
const HOLDERS: ReadonlySet<string> = new Set(
  PROTECTED_FOLDERS.filter((path) => path.includes('/')).map((path) => path.split('/', 1).join()),
);

const FOLDERS_AT_ONCE = 16;
/** Repositories in a repository's .git/modules are this deep at most. */
const MODULE_DEPTH = 4;

export interface ScanLimits {
  readonly entries: number;
  readonly milliseconds: number;
  /** bwrap needs 0.6 s for 500 and 2.5 s for 1000 (measured). */
  readonly mounts: number;
}

const LIMITS: ScanLimits = { entries: 250_000, milliseconds: 20_000, mounts: 800 };

interface Folder {
  readonly path: BytePath;
  /** Below a folder of tools, such as node_modules. */
  readonly generated: boolean;
  /** Already read-only. */
  readonly covered: boolean;
}

type Entry = Dirent;

/**
 * Finds what a command must not see or change in a workspace: secrets, which are hidden at any depth, and the protected
 * paths that are there, which are read-only. Links are not followed; where one with such a name leads to a place in the
 * workspace, that place is covered. Fails with a ToolError rather than leave anything out: TOO_LARGE where the
 * workspace is too large to look through, PROTECTED_PATH where a path cannot be protected.
 */
export async function scanWorkspace(
  root: string,
  signal: AbortSignal,
  limits: ScanLimits = LIMITS,
): Promise<Mount[]> {
  return new Scan(bytesOf(root), signal, limits).run();
}

class Scan {
  private readonly mounts: Mount[] = [];
  private readonly until: number;
  private entries = 0;

  constructor(
    private readonly root: BytePath,
    private readonly signal: AbortSignal,
    private readonly limits: ScanLimits,
  ) {
    this.until = performance.now() + limits.milliseconds;
  }

  async run(): Promise<Mount[]> {
    const pending: Folder[] = [{ path: '', generated: false, covered: false }];
    while (pending.length > 0) {
      this.check();
      const found = await Promise.all(
        pending.splice(-FOLDERS_AT_ONCE).map((folder) => this.folder(folder)),
      );
      for (const folders of found) {
        for (const folder of folders) pending.push(folder);
      }
    }
    this.check();
    return ordered(this.mounts);
  }

  /** The folders in it that are to be looked through. */
  private async folder(folder: Folder): Promise<Folder[]> {
    const below: Folder[] = [];
    for (const entry of await this.list(folder.path)) {
      const found = await this.entry(folder, entry);
      if (found) below.push(found);
    }
    return below;
  }

  private async entry(folder: Folder, entry: Entry): Promise<Folder | undefined> {
    const path = joined(folder.path, entry.name);
    // Folders above that count for themselves are hidden or covered already.
    const parent = folder.path.slice(folder.path.lastIndexOf('/') + 1);
    const { protection, secret } = classifyPath(textOf(joined(parent, entry.name)));
    if (folder.path === '' && HOLDERS.has(entry.name.toLowerCase())) this.holder(path, entry);
    if (entry.isSymbolicLink()) {
      if (secret || protection !== 'NONE') await this.link(folder, path, secret);
      return undefined;
    }
    if (secret) {
      this.hide(path, entry.isDirectory());
      return undefined;
    }
    if (!entry.isDirectory() && !entry.isFile()) {
      // A socket would lead out of the sandbox.
      this.hide(path, false);
      return undefined;
    }
    if (protection === 'GIT') {
      await this.repository(folder, path, entry);
      return undefined;
    }
    const covers = protection !== 'NONE' && !folder.generated && !folder.covered;
    if (covers) this.mounts.push({ path, cover: 'read-only' });
    if (!entry.isDirectory()) return undefined;
    return {
      path,
      generated: folder.generated || GENERATED.has(entry.name),
      covered: folder.covered || covers,
    };
  }

  private holder(path: BytePath, entry: Entry): void {
    if (entry.isSymbolicLink()) throw unprotectable(path, 'is a symbolic link');
    this.mounts.push({ path, cover: entry.isDirectory() ? 'pinned' : 'read-only' });
  }

  /** A repository's own folder is read-only, and stays where it is. */
  private async repository(folder: Folder, path: BytePath, entry: Entry): Promise<void> {
    if (!folder.generated && !folder.covered) {
      this.mounts.push({ path, cover: 'read-only' });
      for (const above of foldersAbove(path)) this.mounts.push({ path: above, cover: 'pinned' });
    }
    if (entry.isDirectory()) await this.gitConfigs(path, MODULE_DEPTH);
  }

  /** Addresses of remotes may hold passwords. What else is in a repository's folder is not looked at. */
  private async gitConfigs(path: BytePath, depth: number): Promise<void> {
    const entries = await this.list(path);
    const config = entries.find(({ name }) => name === 'config');
    if (config?.isFile()) this.hide(joined(path, 'config'), false);
    if (depth === 0) return;
    const isRepository = entries.some(({ name }) => name === 'HEAD');
    for (const entry of entries) {
      if (!entry.isDirectory() || (isRepository && entry.name !== 'modules')) continue;
      await this.gitConfigs(joined(path, entry.name), depth - 1);
    }
  }

  private async link(folder: Folder, path: BytePath, secret: boolean): Promise<void> {
    if (!secret && (folder.generated || folder.covered)) return;
    if (!secret && folder.path === '') throw unprotectable(path, 'is a symbolic link');
    const target = await this.target(path);
    if (target === undefined) return;
    if (target === '') throw unprotectable(path, 'leads to the workspace itself');
    const found = await stat(this.at(target)).catch(() => undefined);
    if (!found) return;
    if (secret) this.hide(target, found.isDirectory());
    else this.mounts.push({ path: target, cover: 'read-only' });
  }

  /** Where a link leads; undefined when that is not in the workspace, and so not in the sandbox either. */
  private async target(path: BytePath): Promise<BytePath | undefined> {
    const real = await realpath(this.at(path), { encoding: 'latin1' }).catch(() => undefined);
    if (real === this.root) return '';
    return real?.startsWith(`${this.root}/`) ? real.slice(this.root.length + 1) : undefined;
  }

  private async list(path: BytePath): Promise<Entry[]> {
    try {
      const options = { encoding: 'latin1', withFileTypes: true } as const;
      const entries = await readdir(this.at(path), options);
      this.entries += entries.length;
      this.check();
      return entries;
    } catch (error) {
      if (error instanceof ToolError || path === '') throw error;
      // What cannot be looked through is not shown; what is gone need not be.
      if (await this.isFolder(path)) this.hide(path, true);
      return [];
    }
  }

  private async isFolder(path: BytePath): Promise<boolean> {
    return lstat(this.at(path)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  }

  private hide(path: BytePath, isFolder: boolean): void {
    this.mounts.push({ path, cover: isFolder ? 'hidden-folder' : 'hidden-file' });
  }

  private at(path: BytePath): Buffer {
    return bufferOf(path === '' ? this.root : `${this.root}/${path}`);
  }

  private check(): void {
    this.signal.throwIfAborted();
    const { entries, mounts } = this.limits;
    if (this.entries > entries) throw tooLarge(`has more than ${entries} files and folders`);
    if (performance.now() > this.until) throw tooLarge('takes too long to look through');
    if (this.mounts.length > mounts) {
      throw tooLarge(`has more than ${mounts} secret and protected files`);
    }
  }
}

function tooLarge(what: string): ToolError {
  return new ToolError(
    'TOO_LARGE',
    `The command was not run: the workspace ${what}, so that its secrets cannot all be hidden from commands. Remove what is not needed, or go on without commands.`,
  );
}

function unprotectable(path: BytePath, why: string): ToolError {
  return new ToolError(
    'PROTECTED_PATH',
    `The command was not run: ${JSON.stringify(textOf(path))} ${why}, which cannot be protected from commands. Ask the user to put a file or folder in its place, or go on without commands.`,
  );
}
