/**
 * Folders of other tools and of their output, which scans of a workspace and of skills leave out (docs/WIRE.md, Skills).
 */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  '.git',
  '.idea',
  'node_modules',
  'target',
  'dist',
  'build',
]);
