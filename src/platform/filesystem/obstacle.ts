import { lstat, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** The reason why a file or folder cannot be used. */
export type Obstacle = 'missing' | 'link' | 'no-folder' | 'no-file' | 'too-large' | 'denied';

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  ENOENT: 'missing',
  ENAMETOOLONG: 'missing',
  ELOOP: 'link',
  ENXIO: 'no-file',
  EACCES: 'denied',
  EPERM: 'denied',
};

export class ObstacleError extends Error {
  constructor(
    readonly obstacle: Obstacle,
    cause?: unknown,
  ) {
    super(obstacle, { cause });
  }
}

/** Opens the path; throws ObstacleError when it cannot be opened. */
export async function opened(path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new ObstacleError(await kindOf(path), error);
    throw obstacleOf(error);
  }
}

/** The error of a system call as an ObstacleError where it is one. */
export function obstacleOf(error: unknown): unknown {
  const obstacle = OBSTACLES[(error as NodeJS.ErrnoException).code ?? ''];
  return obstacle ? new ObstacleError(obstacle, error) : error;
}

/** Linux reports a link and a file in place of a folder with the same code; this distinguishes them for the message. */
async function kindOf(path: string): Promise<Obstacle> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isSymbolicLink() ? 'link' : 'no-folder';
}

/** Whether a system call has failed because there is no file or folder of that name. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
