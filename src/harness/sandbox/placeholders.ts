import { lstat, mkdir, open, rmdir, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ToolError } from '../fault/tool.error.js';
import { PROTECTED_FILES, PROTECTED_FOLDERS } from '../workspace/protected-path.js';

/**
 * The time of their last change marks placeholders, so that those of a process that was killed are known for what they are.
 */
const MARK = new Date('2001-02-03T04:05:06Z');

const FOLDERS = ['.git', ...PROTECTED_FOLDERS];
/** Those of pipelines, which do nothing before they are pushed, would be in the way of every `ls`. */
const FILES = PROTECTED_FILES.filter((name) => name.startsWith('.'));

/** Not permitted, or a read-only file system: the command, which is the same user, cannot make it either. */
const NOT_WRITABLE = ['EACCES', 'EPERM', 'EROFS'];

/**
 * Whether the file at this path below the workspace is nothing but an empty mark that stands for a protected one. A command
 * cannot make or change a file there, so that none of its own can be taken for one.
 */
export function isPlaceholder(
  path: string,
  found: { readonly size: number; readonly mtimeMs: number; isFile(): boolean },
): boolean {
  return (
    FILES.includes(path) && found.isFile() && found.size === 0 && found.mtimeMs === MARK.getTime()
  );
}

/**
 * Empty files and folders in the places of protected paths that a workspace does not have, so that there is something
 * to mount on and a command cannot make them. The scan that follows finds and covers them.
 */
export class Placeholders {
  /** With the number of the file, the innermost last. */
  private readonly made: { readonly path: string; readonly inode: bigint }[] = [];

  /** Names of those in the root, for people and programs that wonder about them. */
  get names(): string[] {
    return this.made.map(({ path }) => relative(this.root, path));
  }

  private constructor(private readonly root: string) {}

  /** Fails with a ToolError when one cannot be made; none is left then. */
  static async make(root: string): Promise<Placeholders> {
    const placeholders = new Placeholders(root);
    try {
      for (const folder of FOLDERS) await placeholders.folder(folder);
      for (const file of FILES) await placeholders.put(file, 'file');
    } catch (error) {
      await placeholders.remove();
      throw error;
    }
    return placeholders;
  }

  /** Removes those that a process has left that was killed. No command may run in the workspace meanwhile. */
  static async removeLeft(root: string): Promise<void> {
    const placeholders = new Placeholders(root);
    const holders = FOLDERS.map((path) => path.split('/', 1).join());
    for (const path of [...holders, ...FOLDERS, ...FILES]) {
      await placeholders.adopt(path).catch(() => undefined);
    }
    await placeholders.remove();
  }

  /**
   * Removes what is still as it was made: an empty file, an empty folder. Whatever was put in its place meanwhile
   * stays.
   */
  async remove(): Promise<void> {
    for (const { path, inode } of this.made.toReversed()) {
      const found = await lstat(path, { bigint: true }).catch(() => undefined);
      if (found?.ino !== inode) continue;
      if (found.isDirectory()) await rmdir(path).catch(() => undefined);
      else if (found.isFile() && found.size === 0n) await unlink(path).catch(() => undefined);
    }
  }

  private async folder(path: string): Promise<void> {
    const [first = '', ...rest] = path.split('/');
    await this.put(first, 'folder');
    if (rest.length === 0) return;
    const above = join(this.root, first);
    // The scan sees to anything else but a folder.
    const found = await lstat(above).catch(() => undefined);
    if (!found?.isDirectory()) return;
    await this.put(path, 'folder');
    if (this.isMade(above)) await utimes(above, MARK, MARK);
  }

  /** What is there already stays. */
  private async put(path: string, kind: 'folder' | 'file'): Promise<void> {
    const absolute = join(this.root, path);
    try {
      if (kind === 'folder') await mkdir(absolute, { mode: 0o755 });
      else await (await open(absolute, 'wx', 0o644)).close();
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EEXIST') return this.adopt(path);
      if (NOT_WRITABLE.includes(code) && !(await isOurs(dirname(absolute)))) return;
      throw cannotProtect(path, code);
    }
    await utimes(absolute, MARK, MARK);
    await this.note(absolute);
  }

  /** What a process that was killed has left counts as made here. */
  private async adopt(path: string): Promise<void> {
    const absolute = join(this.root, path);
    // Over a link the place would be another one.
    if (!(await lstat(dirname(absolute))).isDirectory()) return;
    const found = await lstat(absolute);
    const isLeft = found.isDirectory()
      ? found.mtimeMs === MARK.getTime()
      : isPlaceholder(path, found);
    if (isLeft && !this.isMade(absolute)) await this.note(absolute);
  }

  private async note(absolute: string): Promise<void> {
    const { ino } = await lstat(absolute, { bigint: true });
    this.made.push({ path: absolute, inode: ino });
  }

  private isMade(absolute: string): boolean {
    return this.made.some(({ path }) => path === absolute);
  }
}

/** An owner could make the folder writable again from within the sandbox. */
async function isOurs(folder: string): Promise<boolean> {
  return (await stat(folder)).uid === process.geteuid?.();
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}

function cannotProtect(path: string, code: string): ToolError {
  return new ToolError(
    'PROTECTED_PATH',
    `The command was not run: "${path}" cannot be protected from commands (${code}). Ask the user to make the workspace writable, or go on without commands.`,
  );
}
