import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PolicySubject } from '../../protocol/policy.js';
import type { Workspace } from '../../workspace/workspace.js';
import { ToolError } from '../../fault/tool.error.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { askedFor, counted, pathText, shownList, TimeLimit } from '../answer.js';
import { FileSearch, invalidPattern, searchPlace, withShownFile } from './file-search.js';
import { SearchPatternError, SearchStoppedError } from './glob.js';

const RESULTS = 200;
const SECONDS = 10;

const input = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(500)
    .describe(
      'Glob such as *.test.ts or src/**/*.{ts,tsx}. Without a slash it fits names at every depth.',
    ),
  path: z.string().optional().describe('Folder to look in. Default: the workspace.'),
});
type Input = z.infer<typeof input>;

/** Finds files by their names. */
@Injectable()
export class GlobFilesTool implements ReadTool<Input> {
  readonly name = 'glob_files';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Finds files of the workspace by a glob pattern, the last changed first, at most 200. A pattern with a slash is relative to the path. Leaves out what .gitignore leaves out, files that may hold secrets, links, and folders named .git, .idea, node_modules, target, dist and build; name such a folder as path to look in it. Use search_text to find files by their content.';

  constructor(private readonly search: FileSearch) {}

  title({ pattern, path }: Input): string {
    return path === undefined ? `find ${pattern}` : `find ${pattern} in ${path}`;
  }

  async subject({ path = '' }: Input, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run(given: Input, context: ToolContext): Promise<ToolOutcome> {
    const { workspace, signal } = context;
    const path = await searchPlace(workspace, given.path);
    const glob = globOf(workspace, given.pattern);
    const time = new TimeLimit(signal, SECONDS);
    const found: string[] = [];
    try {
      const query = { root: workspace.root, path, glob };
      for await (const file of this.search.files(query, time.signal)) {
        time.check();
        const isShown = await withShownFile(workspace, file, async () => true);
        if (isShown) found.push(file);
        if (found.length > RESULTS) break;
      }
    } catch (error) {
      if (error instanceof SearchPatternError) throw invalidPattern('pattern', error);
      if (!(error instanceof SearchStoppedError)) {
        time.check();
        throw error;
      }
    }
    return outcome(found, given.pattern);
  }
}

function outcome(found: readonly string[], pattern: string): ToolOutcome {
  const asked = askedFor(pattern);
  if (found.length === 0) {
    return {
      content: `No file fits ${asked}. Try a wider pattern such as **/*name*, or list_files.`,
      summary: `no file fits ${asked}`,
    };
  }
  const { content, count, isCut } = shownList(
    found.map(pathText),
    RESULTS,
    (files) => `[The last changed ${files}; there are more. Use a narrower pattern.]`,
  );
  return {
    content,
    summary: `found ${counted(count, 'file')}${isCut ? ' and more' : ''} for ${asked}`,
    truncated: isCut,
  };
}

/** As the search takes it: relative, and naming what to look for, not what to leave out. */
function globOf(workspace: Workspace, pattern: string): string {
  const refuse = (why: string): never => {
    throw new ToolError('INVALID_ARGUMENTS', `The pattern ${askedFor(pattern)} ${why}.`);
  };
  if (/\p{Cc}/u.test(pattern)) refuse('holds a control character');
  if (pattern.startsWith('!')) refuse('begins with “!”. Say which files you look for');
  if (pattern.split('/').includes('..')) refuse('holds “..”. Use path to say where to look');
  return pattern.startsWith(`${workspace.root}/`) ? pattern.slice(workspace.root.length) : pattern;
}
