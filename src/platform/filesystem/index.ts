export { isMissing, ObstacleError } from './obstacle.js';
export type { Obstacle } from './obstacle.js';
export type { OpenFile } from './open-file.js';
export { closing, identityOf, OpenFolder } from './open-folder.js';
export { packageFolder } from './package-folder.js';
export { Spool, SpoolFullError } from './spool.js';
export { SKIPPED_FOLDERS } from './skipped-folders.js';
