import { existsSync } from 'node:fs';

/**
 * The folder in which Linux shows the open handles of a process as paths. A name below such a path is resolved in the
 * opened folder even if that was moved: the effect of openat(2), which Node does not offer.
 */
export const HANDLES = '/proc/self/fd';
export const hasHandlePaths = existsSync(HANDLES);
