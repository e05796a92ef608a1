import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { ToolError } from '../fault/tool.error.js';
import { inTurns } from '../protocol/turns.js';
import {
  classifyPath,
  isRepository,
  PROTECTED_FOLDERS,
  repositoryPart,
} from '../workspace/protected-path.js';
import type { PathClass } from '../workspace/protected-path.js';
import { bufferOf, bytesOf, foldersAbove, joined, ordered, textOf } from './mount.js';
import type { BytePath, Cover, Mount } from './mount.js';
import { holdsSecret } from './secret-content.js';

/** Made by tools, and not worth protecting but for repositories; secrets are looked for in them, too. */
const GENERATED: ReadonlySet<string> = new Set(['node_modules', 'target', 'dist', 'build']);

/** Folders of the root that hold protected ones and could be swapped for others. */
const HOLDERS: ReadonlySet<string> = new Set(
  PROTECTED_FOLDERS.filter((path) => path.includes('/')).map((path) => path.split('/', 1).join()),
);

/** Folders that hold nothing but credentials. */
const SECRET_FOLDERS: ReadonlySet<string> = new Set(['.ssh', '.aws']);

const FOLDERS_AT_ONCE = 16;
/** Folders above a repository: bwrap needs 2 s for 300 mounts that lie in each other, and 15 s for 600 (measured). */
const PINNED = 8;
/** Repositories in a repository's .git/modules are this deep at most. */
const MODULE_DEPTH = 4;

export interface ScanLimits {
  readonly entries: number;
  readonly milliseconds: number;
  /** bwrap needs 0.6 s for 500 and 2.5 s for 1000 (measured). */
  readonly mounts: number;
}

const LIMITS: ScanLimits = { entries: 250_000, milliseconds: 20_000, mounts: 800 };

/** A protected path that is there, the outermost of several; its device and inode tell it from another with its name. */
export type ProtectedPath = readonly [path: BytePath, identity: string];

export interface WorkspaceScan {
  /** What lies over secrets and protected paths while a command runs, in the order of mounting. */
  readonly mounts: readonly Mount[];
  readonly protectedPaths: readonly ProtectedPath[];
}

/**
 * Finds what a command must not see or change in a workspace: files at any depth that hold secrets, which are hidden, and
 * the protected paths and repositories that are there, which are read-only. Links are not followed; where one with such a
 * name leads to a place in the workspace, that place is covered. Fails with a ToolError rather than leave anything out:
 * TOO_LARGE where the workspace is too large to look through, PROTECTED_PATH where a path cannot be protected.
 */
export async function scanWorkspace(
  root: string,
  signal: AbortSignal,
  limits: ScanLimits = LIMITS,
): Promise<WorkspaceScan> {
  return new Scan(bytesOf(root), signal, limits).run();
}

/** The protected paths that are there, and what makes folders repositories. Fails as `scanWorkspace` with TOO_LARGE. */
export async function protectedPathsIn(
  root: string,
  signal: AbortSignal,
): Promise<readonly ProtectedPath[]> {
  const scan = new Scan(bytesOf(root), signal, { ...LIMITS, mounts: 0 });
  return (await scan.run()).protectedPaths;
}

interface Folder {
  readonly path: BytePath;
  /** Below a folder of tools, such as node_modules. */
  readonly generated: boolean;
  /** Already read-only. */
  readonly covered: boolean;
  /** Below a folder whose name says that it holds secrets. */
  readonly secret: boolean;
}

class Scan {
  private readonly mounts: Mount[] = [];
  private readonly protectedPaths: ProtectedPath[] = [];
  private readonly until: number;
  private readonly covers: boolean;
  private entries = 0;

  constructor(
    private readonly root: BytePath,
    private readonly signal: AbortSignal,
    private readonly limits: ScanLimits,
  ) {
    this.until = performance.now() + limits.milliseconds;
    this.covers = limits.mounts > 0;
  }

  async run(): Promise<WorkspaceScan> {
    const pending: Folder[] = [{ path: '', generated: false, covered: false, secret: false }];
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
    return { mounts: ordered(this.mounts), protectedPaths: this.protectedPaths };
  }

  /** The folders in it that are to be looked through. */
  private async folder(folder: Folder): Promise<Folder[]> {
    const entries = await this.list(folder.path);
    const isBare = isRepository(entries.map(({ name }) => name));
    const parent = folder.path.slice(folder.path.lastIndexOf('/') + 1);
    const below: Folder[] = [];
    for await (const piece of inTurns(entries)) {
      for (const entry of piece) {
        // Folders above that count for themselves are hidden or covered already.
        const found = classifyPath(textOf(joined(parent, entry.name)));
        const part = repositoryPart(textOf(entry.name));
        const isOwn = isBare && part === 'control';
        const kind: PathClass = {
          protection: isOwn ? 'GIT' : found.protection,
          secret: found.secret || folder.secret,
        };
        // What a repository could be made of later is noted as well, to be told from what makes it one.
        const isNoted = part !== undefined && (isBare || this.covers);
        if (isNoted && !folder.covered) await this.note(joined(folder.path, entry.name));
        const next = await this.entry(folder, entry, kind);
        if (next) below.push(next);
      }
    }
    return below;
  }

  /** The folder, where it is one that is to be looked through. */
  private async entry(
    folder: Folder,
    entry: Dirent,
    { protection, secret }: PathClass,
  ): Promise<Folder | undefined> {
    const path = joined(folder.path, entry.name);
    const isRepositoryOwn = protection === 'GIT';
    const isProtected = isRepositoryOwn || (protection === 'PROTECTED' && !folder.generated);
    if (isProtected && !folder.covered && !repositoryPart(textOf(entry.name)))
      await this.note(path);
    if (this.covers && folder.path === '' && HOLDERS.has(entry.name.toLowerCase())) {
      this.holder(path, entry);
    }
    if (entry.isSymbolicLink()) {
      await this.link(folder, path, protection);
      return undefined;
    }
    if (!entry.isDirectory() && !entry.isFile()) {
      // A socket would lead out of the sandbox.
      this.hide(path, false);
      return undefined;
    }
    if (secret && (await this.isSecret(path, entry))) {
      this.hide(path, entry.isDirectory());
      return undefined;
    }
    if (isRepositoryOwn) {
      await this.repository(folder, path, entry);
      return undefined;
    }
    const covers = isProtected && !folder.covered;
    if (covers) this.mount(path, 'read-only');
    if (!entry.isDirectory()) return undefined;
    return {
      path,
      generated: folder.generated || GENERATED.has(entry.name),
      covered: folder.covered || covers,
      secret,
    };
  }

  private async note(path: BytePath): Promise<void> {
    const found = await lstat(this.at(path), { bigint: true }).catch(() => undefined);
    if (found) this.protectedPaths.push([path, `${found.dev}:${found.ino}`]);
  }

  /** Whether what has the name of a secret is one. */
  private async isSecret(path: BytePath, entry: Dirent): Promise<boolean> {
    if (!this.covers) return false;
    if (entry.isDirectory()) return SECRET_FOLDERS.has(entry.name.toLowerCase());
    return holdsSecret(this.at(path), textOf(entry.name));
  }

  private holder(path: BytePath, entry: Dirent): void {
    if (entry.isSymbolicLink()) throw unprotectable(path, 'is a symbolic link');
    this.mount(path, entry.isDirectory() ? 'pinned' : 'read-only');
  }

  /** A repository's own folder is read-only, and stays where it is, as do the outermost folders that it is in. */
  private async repository(folder: Folder, path: BytePath, entry: Dirent): Promise<void> {
    if (!folder.covered) {
      this.mount(path, 'read-only');
      for (const above of foldersAbove(path).slice(0, PINNED)) this.mount(above, 'pinned');
    }
    if (!this.covers) return;
    if (entry.isDirectory()) await this.gitConfigs(path, MODULE_DEPTH);
    else if (entry.name === 'config') await this.gitConfig(path);
  }

  /** Addresses of remotes may hold passwords. What else is in a repository's folder is not looked at. */
  private async gitConfigs(path: BytePath, depth: number): Promise<void> {
    const entries = await this.list(path);
    for (const entry of entries) {
      if (entry.name === 'config' && entry.isFile()) await this.gitConfig(joined(path, 'config'));
      // Git reads files that are as old as its index, and cannot read those that are hidden.
      if (entry.name === 'index' && entry.isFile()) this.mount(joined(path, 'index'), 'newer-file');
    }
    if (depth === 0) return;
    const isRepository = entries.some(({ name }) => name === 'HEAD');
    for (const entry of entries) {
      if (!entry.isDirectory() || (isRepository && entry.name !== 'modules')) continue;
      await this.gitConfigs(joined(path, entry.name), depth - 1);
    }
  }

  private async gitConfig(path: BytePath): Promise<void> {
    if (await holdsSecret(this.at(path), 'config')) this.mount(path, 'redacted-file');
  }

  private async link(
    folder: Folder,
    path: BytePath,
    protection: PathClass['protection'],
  ): Promise<void> {
    const name = textOf(path.slice(path.lastIndexOf('/') + 1));
    const { secret } = classifyPath(name);
    if (!this.covers || (!secret && protection === 'NONE')) return;
    if (!secret && (folder.generated || folder.covered)) return;
    if (!secret && folder.path === '') throw unprotectable(path, 'is a symbolic link');
    const target = await this.target(path);
    if (target === undefined) return;
    if (target === '') throw unprotectable(path, 'leads to the workspace itself');
    const found = await stat(this.at(target)).catch(() => undefined);
    if (!found) return;
    if (!secret) this.mount(target, 'read-only');
    else if (found.isDirectory() || (await holdsSecret(this.at(target), name))) {
      this.hide(target, found.isDirectory());
    }
  }

  /** Where a link leads; undefined when that is not in the workspace, and so not in the sandbox either. */
  private async target(path: BytePath): Promise<BytePath | undefined> {
    const real = await realpath(this.at(path), { encoding: 'latin1' }).catch(() => undefined);
    if (real === this.root) return '';
    return real?.startsWith(`${this.root}/`) ? real.slice(this.root.length + 1) : undefined;
  }

  private async list(path: BytePath): Promise<Dirent[]> {
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
    this.mount(path, isFolder ? 'hidden-folder' : 'hidden-file');
  }

  private mount(path: BytePath, cover: Cover): void {
    if (this.covers) this.mounts.push({ path, cover });
  }

  private at(path: BytePath): Buffer {
    return bufferOf(path === '' ? this.root : `${this.root}/${path}`);
  }

  private check(): void {
    this.signal.throwIfAborted();
    const { entries, mounts } = this.limits;
    if (this.entries > entries) throw tooLarge(`has more than ${entries} files and folders`);
    if (performance.now() > this.until) throw tooLarge('takes too long to look through');
    if (this.covers && this.mounts.length > mounts) {
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
