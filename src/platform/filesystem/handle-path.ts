import { existsSync } from 'node:fs';

/**
 * Where Linux shows the open handles of a process as paths. A name below one is looked up in the very folder that was
 * opened, wherever that has been moved: what openat(2) does, which Node does not offer.
 */
export const HANDLES = '/proc/self/fd';
export const hasHandlePaths = existsSync(HANDLES);
