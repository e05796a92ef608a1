import type { Workspace } from '../../workspace/workspace.js';

const SUGGESTIONS = 3;
/** Names of a folder that are compared. */
const NAMES = 2_000;

/** Paths that exist and are spelled like one that does not, the nearest first; none when nothing is near. */
export async function nearPaths(workspace: Workspace, path: string): Promise<string[]> {
  const names = path.split('/');
  for (let depth = names.length - 1; depth >= 0; depth -= 1) {
    const folder = names.slice(0, depth).join('/');
    const entries = await workspace.entries(folder, NAMES).catch(() => undefined);
    if (!entries) continue;
    const wanted = names[depth] ?? '';
    return entries
      .map(({ name, kind }) => ({
        path: [...names.slice(0, depth), name].join('/') + (kind === 'folder' ? '/' : ''),
        distance: distanceOf(wanted.toLowerCase(), name.toLowerCase()),
      }))
      .filter(({ distance }) => distance <= Math.max(2, wanted.length / 3))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, SUGGESTIONS)
      .map((near) => near.path);
  }
  return [];
}

/** How many characters must be put in, left out or replaced (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, character] of [...one].entries()) {
    const next = [index + 1];
    for (const [at, replaced] of [...other].entries()) {
      const same = (row[at] ?? 0) + (character === replaced ? 0 : 1);
      next.push(Math.min((row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1, same));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
