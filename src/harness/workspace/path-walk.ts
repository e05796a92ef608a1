import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { ObstacleError } from '../../platform/filesystem/index.js';
import type { OpenFolder } from '../../platform/filesystem/index.js';
import { pathError } from './workspace-roots.js';
import { namesOf, relativeTo } from './workspace-path.js';

/** Links on one path; what Linux allows. */
const MAX_LINKS = 40;

/** End of a path after its links are followed. */
export interface Arrival {
  /** The folder that holds it; the caller closes it. */
  readonly folder: OpenFolder;
  /** Its name there; undefined when it is the root itself, which `folder` then is. */
  readonly name: string | undefined;
  /** The path without any link. */
  readonly realPath: string;
}

/** A place on the way: an open folder and the names, none of them a link, that lead to it. */
interface Position {
  readonly at: OpenFolder;
  readonly done: readonly string[];
}

/**
 * Follows a path below the root as the system would, links included, but name by name from one open folder into the
 * next: whatever is swapped meanwhile, it ends below the root. ToolError SYMLINK_ESCAPE when a link leads elsewhere,
 * ObstacleError for what stands in the way before the last name, which itself may be missing.
 */
export class PathWalk {
  private hops = 0;

  constructor(
    private readonly root: { readonly folder: OpenFolder; readonly path: string },
    private readonly path: string,
  ) {}

  async arrive(): Promise<Arrival> {
    let pending: readonly string[] = namesOf(this.path);
    let position: Position = { at: await this.root.folder.folder([]), done: [] };
    try {
      for (;;) {
        const [name, ...rest] = pending;
        const { at, done } = position;
        if (name === undefined) return await this.ended(position);
        if (name === '' || name === '.') {
          pending = rest;
        } else if (name === '..') {
          pending = done.length > 0 ? rest : await this.around(['..', ...rest].join('/'));
          position = await this.moved(position, done.slice(0, -1));
        } else if (await isLink(at, name, rest)) {
          ({ position, pending } = await this.followed(position, name, rest));
        } else if (rest.length === 0) {
          return { folder: at, name, realPath: [...done, name].join('/') };
        } else {
          ({ position, pending } = await this.entered(position, name, rest));
        }
      }
    } catch (error) {
      await position.at.close();
      throw error;
    }
  }

  private async entered(
    position: Position,
    name: string,
    rest: readonly string[],
  ): Promise<{ position: Position; pending: readonly string[] }> {
    try {
      const at = await position.at.folder([name]);
      await position.at.close();
      return { position: { at, done: [...position.done, name] }, pending: rest };
    } catch (error) {
      if (!(error instanceof ObstacleError) || error.obstacle !== 'link') throw error;
      // The entry has become a link since it was inspected.
      this.hop();
      return { position, pending: [name, ...rest] };
    }
  }

  private async followed(
    position: Position,
    name: string,
    rest: readonly string[],
  ): Promise<{ position: Position; pending: readonly string[] }> {
    this.hop();
    const target = await linkTarget(position.at, name);
    // The entry is no longer a link.
    if (target === undefined) return { position, pending: [name, ...rest] };
    if (!target.startsWith('/')) return { position, pending: [...target.split('/'), ...rest] };
    const pending = await this.around([target, ...rest].join('/'));
    return { position: await this.moved(position, []), pending };
  }

  /** The names, from the root on, of a path that leaves it and comes back, such as an absolute one. */
  private async around(path: string): Promise<readonly string[]> {
    this.hop();
    const absolute = posix.resolve(this.root.path, path);
    const inside = relativeTo(this.root.path, absolute);
    if (path.startsWith('/') && inside !== undefined && !path.split('/').includes('..')) {
      return namesOf(inside);
    }
    // The result only suggests names, which are then walked from the root like all others.
    const real = await realpath(path.startsWith('/') ? path : `${this.root.path}/${path}`).catch(
      () => undefined,
    );
    const names = real === undefined ? undefined : relativeTo(this.root.path, real);
    if (names === undefined) throw this.escape();
    return namesOf(names);
  }

  private async moved(position: Position, done: readonly string[]): Promise<Position> {
    const at = await this.root.folder.folder(done);
    await position.at.close();
    return { at, done };
  }

  /** The path has ended at a folder that is open, by `.` or `..`. */
  private async ended({ at, done }: Position): Promise<Arrival> {
    const name = done.at(-1);
    if (name === undefined) return { folder: at, name, realPath: '' };
    const folder = await this.root.folder.folder(done.slice(0, -1));
    await at.close();
    return { folder, name, realPath: done.join('/') };
  }

  private hop(): void {
    this.hops += 1;
    if (this.hops > MAX_LINKS) {
      throw pathError('SYMLINK_ESCAPE', this.path, 'leads over too many symbolic links');
    }
  }

  private escape(): Error {
    return pathError(
      'SYMLINK_ESCAPE',
      this.path,
      'is or passes a symbolic link that leads out of the workspace, or to nothing',
    );
  }
}

/** A missing last name is no link: the caller finds that out on arrival. */
async function isLink(at: OpenFolder, name: string, rest: readonly string[]): Promise<boolean> {
  try {
    return (await at.stat(name)).isSymbolicLink();
  } catch (error) {
    if (rest.length === 0 && error instanceof ObstacleError && error.obstacle === 'missing') {
      return false;
    }
    throw error;
  }
}

/** Undefined when it is no link any more. */
async function linkTarget(at: OpenFolder, name: string): Promise<string | undefined> {
  try {
    return await at.linkTarget(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined;
    throw error;
  }
}
