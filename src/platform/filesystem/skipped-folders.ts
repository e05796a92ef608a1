/**
 * Folders of other tools, and of what they make, which looks through a workspace leave out (specification, Coding
 * harness).
 */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  '.git',
  '.idea',
  'node_modules',
  'target',
  'dist',
  'build',
]);
