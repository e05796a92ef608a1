import { posix } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { OpenFile } from '../../../platform/filesystem/index.js';
import { ToolError } from '../../protocol/tool-call.js';
import type { PolicySubject } from '../../protocol/policy.js';
import { SecretMask } from '../../store/secret-mask.js';
import { FileSearch, invalidPattern, searchPlace, withShownFile } from './file-search.js';
import type { FoundLine, TextQuery } from './file-search.js';
import { SearchPatternError, SearchStoppedError } from './glob.js';
import { askedFor, counted, pathText, ShownLines, shownList, TimeLimit } from '../tool.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { opensSecret } from '../../workspace/protected-path.js';
import type { Workspace } from '../../workspace/workspace.js';

const MAX_FILES = 200;
const GLOB_SECONDS = 10;

const globInput = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(500)
    .describe(
      'Glob such as *.test.ts or src/**/*.{ts,tsx}. Without a slash it fits names at every depth.',
    ),
  path: z.string().optional().describe('Folder to look in. Default: the workspace.'),
});
type GlobInput = z.infer<typeof globInput>;

/** Finds files by their names. */
@Injectable()
export class GlobFilesTool implements ReadTool<GlobInput> {
  readonly name = 'glob_files';
  readonly effectClass = 'READ';
  readonly input = globInput;
  readonly description =
    'Finds files of the workspace by a glob pattern, the last changed first, at most 200. A pattern with a slash is relative to the path. Leaves out what .gitignore leaves out, files that may hold secrets, links, and folders named .git, .idea, node_modules, target, dist and build; name such a folder as path to look in it. Use search_text to find files by their content.';

  constructor(private readonly search: FileSearch) {}

  title({ pattern, path }: GlobInput): string {
    return path === undefined ? `find ${pattern}` : `find ${pattern} in ${path}`;
  }

  async subject({ path = '' }: GlobInput, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run(input: GlobInput, context: ToolContext): Promise<ToolOutcome> {
    const { workspace, signal } = context;
    const path = await searchPlace(workspace, input.path);
    const glob = globOf(workspace, input.pattern);
    const time = new TimeLimit(signal, GLOB_SECONDS);
    const matchingFiles: string[] = [];
    try {
      const query = { root: workspace.root, path, glob };
      for await (const file of this.search.files(query, time.signal)) {
        time.check();
        const isShown = await withShownFile(workspace, file, async () => true);
        if (isShown) matchingFiles.push(file);
        if (matchingFiles.length > MAX_FILES) break;
      }
    } catch (error) {
      if (error instanceof SearchPatternError) throw invalidPattern('pattern', error);
      if (!(error instanceof SearchStoppedError)) {
        time.check();
        throw error;
      }
    }
    return foundFiles(matchingFiles, input.pattern);
  }
}

function foundFiles(files: readonly string[], pattern: string): ToolOutcome {
  const quotedPattern = askedFor(pattern);
  if (files.length === 0) {
    return {
      content: `No file fits ${quotedPattern}. Try a wider pattern such as **/*name*, or list_files.`,
      summary: `no file fits ${quotedPattern}`,
    };
  }
  const { content, count, isCut } = shownList(
    files.map(pathText),
    MAX_FILES,
    (files) => `[The last changed ${files}; there are more. Use a narrower pattern.]`,
  );
  return {
    content,
    summary: `found ${counted(count, 'file')}${isCut ? ' and more' : ''} for ${quotedPattern}`,
    truncated: isCut,
  };
}

/** The pattern in the search's form: relative, and naming files to include, not to exclude. */
function globOf(workspace: Workspace, pattern: string): string {
  const refuse = (why: string): never => {
    throw new ToolError('INVALID_ARGUMENTS', `The pattern ${askedFor(pattern)} ${why}.`);
  };
  if (/\p{Cc}/u.test(pattern)) refuse('holds a control character');
  if (pattern.startsWith('!')) refuse('begins with “!”. Say which files you look for');
  if (pattern.split('/').includes('..')) refuse('holds “..”. Use path to say where to look');
  return pattern.startsWith(`${workspace.root}/`) ? pattern.slice(workspace.root.length) : pattern;
}

const MAX_MATCHES = 100;
const SEARCH_SECONDS = 30;
/** Characters of a line that are shown. */
const MAX_LINE_CHARS = 500;
/** Characters shown before the first match when the beginning of a line is cut off. */
const MAX_CHARS_BEFORE_MATCH = 200;
/** Bytes that may be needed to show that many characters. */
const WINDOW_BYTES = (MAX_LINE_CHARS + MAX_CHARS_BEFORE_MATCH) * 4;

const oneLine = /^[^\p{Cc}]*$/u;

const searchInput = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .regex(/^[^\0\n\r]*$/, 'must be one line')
    .describe(
      'Regular expression as of ripgrep (no look-around, no back-references), for one line.',
    ),
  path: z.string().optional().describe('File or folder to look in. Default: the workspace.'),
  glob: z
    .string()
    .min(1)
    .max(500)
    .regex(oneLine, 'must not hold control characters')
    .optional()
    .describe('Only files that fit, such as *.ts or src/**; !*.test.ts leaves files out.'),
  ignoreCase: z.boolean().optional().describe('Default false.'),
  context: z
    .int()
    .min(0)
    .max(5)
    .optional()
    .describe('Lines to show around a match, 0 to 5. Default 0.'),
  literal: z.boolean().optional().describe('The pattern is plain text. Default false.'),
});
type SearchInput = z.infer<typeof searchInput>;

/** A line that was read again from the workspace. */
interface ConfirmedLine {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
  /** Lines before it are left out. */
  readonly isApart: boolean;
}

interface Found {
  /** Lines of each file, in the order of the files. */
  readonly files: Map<string, ConfirmedLine[]>;
  readonly matches: number;
  /** Reason why there may be more matches. */
  readonly end: 'all' | 'matches' | 'time';
}

/** Finds lines by their content. */
@Injectable()
export class SearchTextTool implements ReadTool<SearchInput> {
  readonly name = 'search_text';
  readonly effectClass = 'READ';
  readonly input = searchInput;
  readonly description =
    'Searches the content of files of the workspace, line by line, and answers path, line number and line: "12:" before a match, "11-" before a line around it. At most 100 matches and 500 characters of a line. Leaves out what .gitignore leaves out, binary files, files above 20 MiB, files that may hold secrets (.env*, keys, credentials), links, and folders named .git, .idea, node_modules, target, dist and build; name such a folder as path to look in it. Use read_file to see more of a file, glob_files to find files by name.';

  constructor(
    private readonly search: FileSearch,
    private readonly mask: SecretMask,
  ) {}

  title({ pattern, path }: SearchInput): string {
    return path === undefined ? `search for ${pattern}` : `search for ${pattern} in ${path}`;
  }

  /** Secret files are never searched, so no consent is needed. */
  async subject({ path = '' }: SearchInput, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run(input: SearchInput, context: ToolContext): Promise<ToolOutcome> {
    const { pattern, glob, ignoreCase = false, literal = false, context: around = 0 } = input;
    const path = await searchPlace(context.workspace, input.path);
    const { root } = context.workspace;
    const query = { root, path, glob, pattern, ignoreCase, literal, context: around };
    const result = await this.findLines(query, context);
    return result.matches === 0 ? noMatches(result, pattern) : foundMatches(result, pattern);
  }

  private async findLines(query: TextQuery, { workspace, signal }: ToolContext): Promise<Found> {
    const time = new TimeLimit(signal, SEARCH_SECONDS);
    const files: Found['files'] = new Map();
    let matches = 0;
    const add = async (lines: readonly FoundLine[]): Promise<void> => {
      const [first] = lines;
      if (!first) return;
      const confirmed =
        (await withShownFile(workspace, first.path, (file) => this.confirmLines(file, lines))) ??
        [];
      const accepted = upToMatches(confirmed, MAX_MATCHES - matches);
      matches += accepted.filter(({ isMatch }) => isMatch).length;
      if (accepted.length > 0)
        files.set(first.path, [...(files.get(first.path) ?? []), ...accepted]);
    };
    try {
      for await (const lines of ofOneFile(this.search.lines(query, time.signal))) {
        await add(lines);
        if (matches >= MAX_MATCHES) return { files, matches, end: 'matches' };
      }
      return { files, matches, end: 'all' };
    } catch (error) {
      if (error instanceof SearchPatternError) throw invalidPattern('pattern or glob', error);
      signal.throwIfAborted();
      if (!time.isOver && !(error instanceof SearchStoppedError)) throw error;
      if (matches === 0) time.check();
      return { files, matches, end: 'time' };
    }
  }

  /** Drops files whose content makes them secret. */
  private async confirmLines(
    file: OpenFile,
    lines: readonly FoundLine[],
  ): Promise<ConfirmedLine[]> {
    const name = posix.basename(lines[0]?.path ?? '');
    if (await opensSecret(file, { name, isNamedSo: false })) return [];
    return this.confirmed(file, lines);
  }

  /**
   * Those of the lines that are in the file now. They are read again, so that nothing is shown that the search has
   * reached over a link or a swapped folder. Secrets of the service are masked before a line is cut.
   */
  private async confirmed(file: OpenFile, lines: readonly FoundLine[]): Promise<ConfirmedLine[]> {
    const confirmed: ConfirmedLine[] = [];
    let last: number | undefined;
    for (const { line, offset, bytes, isMatch, column } of lines) {
      const masked = this.mask.applyToBytes(bytes);
      const isMasked = masked !== bytes;
      const from = column > MAX_LINE_CHARS && !isMasked ? column - MAX_CHARS_BEFORE_MATCH : 0;
      const wanted = isMasked ? bytes : bytes.subarray(from, from + WINDOW_BYTES);
      const actual = await file.part(offset + from, wanted.length);
      if (!actual.equals(wanted)) continue;
      const isApart = last !== undefined && line > last + 1;
      last = line;
      const isLonger = from + wanted.length < bytes.length;
      const text = clippedLine(isMasked ? masked : actual, { isBegun: from > 0, isLonger });
      confirmed.push({ line, text, isMatch, isApart });
    }
    return confirmed;
  }
}

function clippedLine(
  bytes: Buffer,
  { isBegun, isLonger }: { readonly isBegun: boolean; readonly isLonger: boolean },
): string {
  const whole = bytes.toString().replace(/\r?\n?$/, '');
  const text = whole.slice(0, MAX_LINE_CHARS).toWellFormed();
  return `${isBegun ? '… ' : ''}${text}${isLonger || text.length < whole.length ? ' …' : ''}`;
}

/** Lines of one file at a time, and never more of them than are looked at. */
async function* ofOneFile(lines: AsyncIterable<FoundLine>): AsyncGenerator<FoundLine[]> {
  let group: FoundLine[] = [];
  for await (const line of lines) {
    const [first] = group;
    if (first && (first.path !== line.path || group.length === MAX_MATCHES)) {
      yield group;
      group = [];
    }
    group.push(line);
  }
  if (group.length > 0) yield group;
}

/** The lines up to the given number of matches, with the context of the last. */
function upToMatches(lines: readonly ConfirmedLine[], matches: number): ConfirmedLine[] {
  let remaining = matches;
  const end = lines.findIndex(({ isMatch }) => isMatch && remaining-- === 0);
  return end < 0 ? [...lines] : lines.slice(0, end);
}

function noMatches({ end }: Found, pattern: string): ToolOutcome {
  const isCut = end !== 'all';
  const cut = isCut ? ' in what was searched before the limits. Search a smaller folder' : '';
  return {
    content: `No line fits ${askedFor(pattern)}${cut}. Check the spelling, or try ignoreCase, literal or a wider pattern.`,
    summary: `no match for ${askedFor(pattern)}`,
    truncated: isCut,
  };
}

function foundMatches({ files, matches, end }: Found, pattern: string): ToolOutcome {
  const shownLines = new ShownLines();
  let fits = true;
  for (const [path, lines] of files) {
    fits =
      shownLines.add('', pathText(path)) && lines.every((line) => shownLines.add(...textOf(line)));
    if (!fits) break;
  }
  const isCut = !fits || end !== 'all';
  const remark = isCut
    ? `[There may be more matches${end === 'time' ? ', because the search took too long' : ''}. Use a narrower pattern, a path or a glob.]`
    : undefined;
  return {
    content: shownLines.text(remark),
    summary: `found ${counted(matches, 'match')}${isCut ? ' and more' : ''} in ${counted(files.size, 'file')} for ${askedFor(pattern)}`,
    truncated: isCut,
  };
}

function textOf({ line, text, isMatch, isApart }: ConfirmedLine): string[] {
  return [...(isApart ? ['--'] : []), `${line}${isMatch ? ':' : '-'} ${text}`];
}
