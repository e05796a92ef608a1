import { SKIPPED_FOLDERS } from '../../platform/filesystem/index.js';
import type { Workspace, WorkspaceEntry } from '../workspace/workspace.js';
import { ToolError } from '../fault/tool.error.js';

/** Lines of the listing in all, and of what lies directly in the workspace. */
const LINES = 200;
const TOP_LINES = 120;
const LONGEST_NAME = 100;

/**
 * What lies in the workspace, two levels deep, in at most 200 lines: first what lies directly in it, then a fair share of
 * each folder. Names that could be mistaken for something else are quoted.
 */
export async function listingOf(workspace: Workspace): Promise<string> {
  const top = await entriesOf(workspace, '', TOP_LINES);
  const folders = top.entries.filter((entry) => isOpened(entry));
  const share = Math.max(1, Math.floor((LINES - TOP_LINES) / Math.max(1, folders.length)));
  // What the top does not use is the folders' too.
  const spare = Math.floor((TOP_LINES - top.entries.length) / Math.max(1, folders.length));
  const lines: string[] = [];
  for (const entry of top.entries) {
    lines.push(lineOf(entry));
    if (!isOpened(entry) || lines.length >= LINES) continue;
    const inside = await entriesOf(workspace, entry.name, share + spare);
    lines.push(...inside.entries.map((one) => `  ${lineOf(one)}`));
    if (inside.hasMore) lines.push('  …');
  }
  if (lines.length === 0) return '(empty)';
  return lines.length > LINES || top.hasMore
    ? [...lines.slice(0, LINES - 1), '…'].join('\n')
    : lines.join('\n');
}

async function entriesOf(
  workspace: Workspace,
  path: string,
  lines: number,
): Promise<{ readonly entries: readonly WorkspaceEntry[]; readonly hasMore: boolean }> {
  try {
    const entries = await workspace.entries(path, lines + 1);
    const hasMore = entries.length > lines;
    // The line that says that there is more takes the place of one.
    return { entries: hasMore ? entries.slice(0, Math.max(0, lines - 1)) : entries, hasMore };
  } catch (error) {
    // What cannot be listed, such as a folder that has just gone, is left out: the tools tell more.
    if (error instanceof ToolError) return { entries: [], hasMore: true };
    throw error;
  }
}

function isOpened({ kind, name }: WorkspaceEntry): boolean {
  return kind === 'folder' && !SKIPPED_FOLDERS.has(name);
}

function lineOf({ name, kind }: WorkspaceEntry): string {
  const shown = /^[\p{L}\p{N}_.@+ -]+$/u.test(name) && name.length <= LONGEST_NAME;
  const text = shown ? name : JSON.stringify(name.slice(0, LONGEST_NAME));
  if (kind === 'folder') return SKIPPED_FOLDERS.has(name) ? `${text}/ (not listed)` : `${text}/`;
  return kind === 'link' ? `${text} (a link)` : text;
}
