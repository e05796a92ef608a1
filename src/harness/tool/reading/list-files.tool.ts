import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import type { PolicySubject } from '../../protocol/policy.js';
import type { Workspace, WorkspaceEntry } from '../../workspace/workspace.js';
import { ToolError } from '../../fault/tool.error.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { counted, pathText, shownList, sizeOf, TimeLimit } from '../answer.js';

const ENTRIES = 500;
const SECONDS = 10;

const input = z.strictObject({
  path: z
    .string()
    .optional()
    .describe('Folder, relative to the workspace. Default: the workspace.'),
  depth: z.int().min(1).max(3).optional().describe('Levels of folders to show, 1 to 3. Default 1.'),
});
type Input = z.infer<typeof input>;

interface Listed extends WorkspaceEntry {
  readonly path: string;
}

/** Shows the model what lies in a folder. */
@Injectable()
export class ListFilesTool implements ReadTool<Input> {
  readonly name = 'list_files';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Lists a folder of the workspace: folders with / at the end, files with their size, symbolic links marked and not followed. Shows at most 500 entries. Folders named .git, .idea, node_modules, target, dist and build are shown but not entered, unless one is the path itself. Use glob_files to find files by name anywhere.';

  title({ path = '.', depth = 1 }: Input): string {
    return depth === 1 ? `list ${path}` : `list ${path}, ${depth} levels`;
  }

  async subject({ path = '' }: Input, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run({ path: given = '', depth = 1 }: Input, context: ToolContext): Promise<ToolOutcome> {
    const { workspace, signal } = context;
    const path = workspace.pathOf(given);
    const found = await new Listing(workspace, path, new TimeLimit(signal, SECONDS)).entries(depth);
    const place = pathText(path === '' ? '.' : path);
    if (found.length === 0) {
      return { content: `The folder ${place} is empty.`, summary: `${place} is empty` };
    }
    const listed = [...found.slice(0, ENTRIES).sort(byPath), ...found.slice(ENTRIES)];
    const { content, count, isCut } = shownList(
      listed.map(lineOf),
      ENTRIES,
      (lines) =>
        `[The first ${lines} entries; there are more. List a folder of it, or use glob_files.]`,
    );
    return {
      content,
      summary: `listed ${counted(count, 'entry')}${isCut ? ' and more' : ''} in ${place}`,
      truncated: isCut,
    };
  }
}

/** Collects level by level, so that the limit cuts off what lies deepest. */
class Listing {
  constructor(
    private readonly workspace: Workspace,
    private readonly path: string,
    private readonly time: TimeLimit,
  ) {}

  /** One entry more than are shown when there are more. */
  async entries(depth: number): Promise<Listed[]> {
    const found: Listed[] = [];
    let level = [this.path];
    for (let deep = 1; deep <= depth && level.length > 0 && found.length <= ENTRIES; deep += 1) {
      const entries: Listed[] = [];
      for (const folder of level) {
        entries.push(...(await this.folder(folder, ENTRIES + 1 - found.length - entries.length)));
        if (found.length + entries.length > ENTRIES) break;
      }
      found.push(...entries);
      level = entries.filter((entry) => isEntered(entry)).map((entry) => entry.path);
    }
    return found;
  }

  private async folder(folder: string, limit: number): Promise<Listed[]> {
    this.time.check();
    try {
      const entries = await this.workspace.entries(folder, limit);
      return entries.map((entry) => listed(folder, entry));
    } catch (error) {
      // A folder below the one asked for may have gone, or be closed to the service.
      if (error instanceof ToolError && folder !== this.path) return [];
      throw error;
    }
  }
}

function listed(folder: string, entry: WorkspaceEntry): Listed {
  const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
  return { ...entry, path };
}

function isEntered({ kind, name }: Listed): boolean {
  return kind === 'folder' && !SKIPPED_FOLDERS.has(name);
}

function lineOf(entry: Listed): string {
  const path = pathText(entry.path);
  switch (entry.kind) {
    case 'folder':
      return isEntered(entry) ? `${path}/` : `${path}/ (not entered)`;
    case 'link':
      return `${path} (link)`;
    case 'other':
      return `${path} (no regular file)`;
    case 'file':
      return `${path} (${sizeOf(entry.size)})`;
  }
}

/** As a tree is read: what lies in a folder comes right after it. */
function byPath(one: Listed, other: Listed): number {
  const [a, b] = [one, other].map(({ path }) => path.replaceAll('/', '\0'));
  return (a ?? '') < (b ?? '') ? -1 : 1;
}
