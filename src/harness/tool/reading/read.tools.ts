import { posix } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import { ToolError } from '../../protocol/tool-call.js';
import type { PolicySubject } from '../../protocol/policy.js';
import { utf8Text } from '../../protocol/values.js';
import { yieldingChunks } from '../../protocol/yielding-chunks.js';
import { SecretMask } from '../../store/secret-mask.js';
import { clipped, counted, pathText, ShownLines, shownList, sizeOf, TimeLimit } from '../tool.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { isJudgedByContent, opensSecret } from '../../workspace/protected-path.js';
import type { Workspace, WorkspaceEntry, WorkspaceFile } from '../../workspace/workspace.js';

const MAX_ENTRIES = 500;
const LIST_SECONDS = 10;

const listInput = z.strictObject({
  path: z
    .string()
    .optional()
    .describe('Folder, relative to the workspace. Default: the workspace.'),
  depth: z.int().min(1).max(3).optional().describe('Levels of folders to show, 1 to 3. Default 1.'),
});
type ListInput = z.infer<typeof listInput>;

interface Listed extends WorkspaceEntry {
  readonly path: string;
}

/** Shows the model what lies in a folder. */
@Injectable()
export class ListFilesTool implements ReadTool<ListInput> {
  readonly name = 'list_files';
  readonly effectClass = 'READ';
  readonly input = listInput;
  readonly description =
    'Lists a folder of the workspace: folders with / at the end, files with their size, symbolic links marked and not followed. Shows at most 500 entries. Folders named .git, .idea, node_modules, target, dist and build are shown but not entered, unless one is the path itself. Use glob_files to find files by name anywhere.';

  title({ path = '.', depth = 1 }: ListInput): string {
    return depth === 1 ? `list ${path}` : `list ${path}, ${depth} levels`;
  }

  async subject({ path = '' }: ListInput, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run(
    { path: requestedPath = '', depth = 1 }: ListInput,
    context: ToolContext,
  ): Promise<ToolOutcome> {
    const { workspace, signal } = context;
    const path = workspace.pathOf(requestedPath);
    const entries = await new Listing(workspace, path, new TimeLimit(signal, LIST_SECONDS)).entries(
      depth,
    );
    const place = pathText(path === '' ? '.' : path);
    if (entries.length === 0) {
      return { content: `The folder ${place} is empty.`, summary: `${place} is empty` };
    }
    const listed = [...entries.slice(0, MAX_ENTRIES).sort(byPath), ...entries.slice(MAX_ENTRIES)];
    const { content, count, isCut } = shownList(
      listed.map(lineOf),
      MAX_ENTRIES,
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

  /** Returns one entry more than are shown when there are more. */
  async entries(depth: number): Promise<Listed[]> {
    const allEntries: Listed[] = [];
    let level = [this.path];
    for (
      let deep = 1;
      deep <= depth && level.length > 0 && allEntries.length <= MAX_ENTRIES;
      deep += 1
    ) {
      const entries: Listed[] = [];
      for (const folder of level) {
        entries.push(
          ...(await this.folder(folder, MAX_ENTRIES + 1 - allEntries.length - entries.length)),
        );
        if (allEntries.length + entries.length > MAX_ENTRIES) break;
      }
      allEntries.push(...entries);
      level = entries.filter((entry) => isEntered(entry)).map((entry) => entry.path);
    }
    return allEntries;
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

/** Orders a tree so that the contents of a folder follow it directly. */
function byPath(one: Listed, other: Listed): number {
  const [a, b] = [one, other].map(({ path }) => path.replaceAll('/', '\0'));
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

const MAX_LINES = 2_000;
const MAX_FILE_BYTES = 20 * 1024 * 1024;
const READ_SECONDS = 30;
const MAX_LINE_CHARS = 2_000;
const LINE_FEED = 0x0a;
const MAX_SUGGESTIONS = 3;
/** Names of a folder that are compared with a misspelled one, unless one of them is longer: some tenths of a second in all. */
const MAX_COMPARED_NAMES = 2_000;
const MAX_COMPARED_CHARS = 100;
/** A few milliseconds; then other work gets its turn. */
const COMPARED_AT_ONCE = 50;

const readInput = z.strictObject({
  path: z.string().describe('Path of the file, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(MAX_LINES).optional().describe('Lines to show at most. Default 2000.'),
});
type ReadInput = z.infer<typeof readInput>;

/** Shows the model a text file, and records what it has seen of it. */
@Injectable()
export class ReadFileTool implements ReadTool<ReadInput> {
  readonly name = 'read_file';
  readonly effectClass = 'READ';
  readonly input = readInput;
  readonly description =
    'Shows a text file of the workspace. Each line begins with its number and a tab, which are not part of the file. Shows at most 2000 lines, 2000 characters of a line and 46 KiB, and says how to go on. Reads files up to 20 MiB; binary files are refused. Read a file before you edit or overwrite it. Use search_text to find something in many files or in a long one, list_files for folders.';

  constructor(private readonly mask: SecretMask) {}

  title({ path }: ReadInput): string {
    return `read ${path}`;
  }

  /** Whether the file is secret, by its name or its content. NOT_FOUND names similar paths; SECRET_PATH for a link to a secret file. */
  async subject(
    { path: requestedPath }: ReadInput,
    { workspace }: ToolContext,
  ): Promise<PolicySubject> {
    const path = workspace.pathOf(requestedPath);
    const realPath = await withSuggestions(workspace, path, () => workspace.realPathOf(path));
    requireNoSecretLink(workspace, path, realPath);
    return { kind: 'read', secret: await isSecret(workspace, path) };
  }

  async run(input: ReadInput, context: ToolContext): Promise<ToolOutcome> {
    const { offset = 1, limit = MAX_LINES } = input;
    const file = await readTextFile(context, input.path);
    const { path, realPath, sha256, isExact } = file;
    // A line is masked before it is cut: afterwards half of a secret would not be recognised.
    const masked = (line: string): string => this.mask.apply(line);
    const { content, lines, total, isCut } = textPage(file, { offset, limit, masked });
    const remark = isExact
      ? ''
      : '\n[Not valid UTF-8: \ufffd stands for bytes that cannot be shown.]';
    return {
      content: content + remark,
      summary:
        lines === total
          ? `read ${counted(lines, 'line')} of ${path}`
          : `read lines ${offset} to ${offset + lines - 1} of ${total} of ${path}`,
      truncated: isCut,
      seen: [{ path: realPath, sha256 }],
    };
  }
}

interface TextFile extends Pick<WorkspaceFile, 'path' | 'realPath' | 'sha256'> {
  readonly text: string;
  /** False when the file is not valid UTF-8: U+FFFD stands for what cannot be shown. */
  readonly isExact: boolean;
}

/**
 * Reads a file of at most 20 MiB. ToolError: NOT_FOUND, NOT_A_FILE, TOO_LARGE, SYMLINK_ESCAPE, SECRET_PATH, NOT_TEXT for
 * binary content, and TIMED_OUT after 30 seconds.
 */
async function readTextFile(
  { workspace, signal }: ToolContext,
  requestedPath: string,
): Promise<TextFile> {
  const path = workspace.pathOf(requestedPath);
  const time = new TimeLimit(signal, READ_SECONDS);
  const file = await withSuggestions(workspace, path, () =>
    workspace.read(path, { limitBytes: MAX_FILE_BYTES, signal: time.signal }),
  ).catch((error: unknown) => {
    time.check();
    throw error;
  });
  const { realPath, sha256, bytes, size } = file;
  // The file may have become a link since the policy was asked.
  requireNoSecretLink(workspace, path, realPath);
  if (bytes.includes(0)) {
    throw new ToolError(
      'NOT_TEXT',
      `${path} is a binary file of ${sizeOf(size)} and cannot be shown as text.`,
    );
  }
  const text = utf8Text(bytes);
  return { path, realPath, sha256, text: text ?? bytes.toString(), isExact: text !== undefined };
}

/** Some lines of a text, numbered, with a remark that says what is missing. */
interface TextPage {
  readonly content: string;
  /** Lines that it holds. */
  readonly lines: number;
  /** Lines of the whole text. */
  readonly total: number;
  readonly isCut: boolean;
}

interface PageQuery {
  /** First line, from 1 on. */
  readonly offset: number;
  readonly limit: number;
  /** Masks a line before it is cut: afterwards half of a secret would not be recognised. */
  readonly masked: (line: string) => string;
}

/** INVALID_ARGUMENTS when the text has fewer lines. An empty text has one page without lines. */
function textPage({ text, path }: TextFile, { offset, limit, masked }: PageQuery): TextPage {
  const { lines, total } = linesFrom(text, { offset, limit });
  if (total === 0 && offset === 1) {
    return { content: '[The file is empty.]', lines: 0, total, isCut: false };
  }
  if (offset > total) {
    throw new ToolError(
      'INVALID_ARGUMENTS',
      `${path} has only ${counted(total, 'line')}; offset=${offset} is behind its end. Give a smaller offset.`,
    );
  }
  const shownLines = new ShownLines();
  let last = offset - 1;
  for (const line of lines) {
    // The editing tools handle carriage returns themselves.
    const visible = clipped(masked(line.replace(/\r$/, '')), MAX_LINE_CHARS);
    if (!shownLines.add(`${last + 1}\t${visible}`)) break;
    last += 1;
  }
  const remark =
    last < total
      ? `[Lines ${offset} to ${last} of ${total}. Go on with offset=${last + 1}.]`
      : `[End of the file, ${counted(total, 'line')}.]`;
  return { content: shownLines.text(remark), lines: last - offset + 1, total, isCut: last < total };
}

/**
 * So many lines of a text from one on, and how many it has; no list of all of them is made, which may be millions. What
 * follows the last line break is a line only if there is something.
 */
function linesFrom(
  text: string,
  { offset, limit }: Pick<PageQuery, 'offset' | 'limit'>,
): { readonly lines: readonly string[]; readonly total: number } {
  const lines: string[] = [];
  let total = 0;
  let start = text.startsWith('\ufeff') ? 1 : 0;
  for (let at = start; at < text.length; at += 1) {
    if (text.charCodeAt(at) !== LINE_FEED) continue;
    total += 1;
    if (total >= offset && lines.length < limit) lines.push(text.slice(start, at));
    start = at + 1;
  }
  if (start < text.length) {
    total += 1;
    if (total >= offset && lines.length < limit) lines.push(text.slice(start));
  }
  return { lines, total };
}

async function isSecret(workspace: Workspace, path: string): Promise<boolean> {
  if (workspace.classify(path).secret) return true;
  const named = { name: posix.basename(path), isNamedSo: false };
  if (!isJudgedByContent(named)) return false;
  // A file that cannot be opened is refused when it is read.
  return workspace.withFile(path, (file) => opensSecret(file, named)).catch(() => false);
}

/** Refused whatever the policy says: consent to a name is no consent to what is behind it. */
function requireNoSecretLink(workspace: Workspace, path: string, realPath: string): void {
  if (realPath === path || !workspace.classify(realPath).secret) return;
  throw new ToolError(
    'SECRET_PATH',
    `${path} is a link to ${realPath}, which may hold secrets. Links to such files are not followed. If you need it, ask for ${realPath} itself.`,
  );
}

/** Adds similar paths to NOT_FOUND. */
async function withSuggestions<T>(
  workspace: Workspace,
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'NOT_FOUND') throw error;
    const similar = await similarPaths(workspace, path);
    if (similar.length === 0) throw error;
    throw new ToolError(
      'NOT_FOUND',
      `There is no ${pathText(path)}. Did you mean ${similar.map(pathText).join(', ')}?`,
    );
  }
}

/** Existing paths with a similar spelling, the nearest first. */
async function similarPaths(workspace: Workspace, path: string): Promise<string[]> {
  const names = path.split('/');
  for (let depth = names.length - 1; depth >= 0; depth -= 1) {
    const folder = names.slice(0, depth).join('/');
    const entries = await workspace.entries(folder, MAX_COMPARED_NAMES).catch(() => undefined);
    if (!entries) continue;
    const similar = await similarNames(entries, names[depth] ?? '');
    return similar.map((name) => [...names.slice(0, depth), name].join('/'));
  }
  return [];
}

/** The names with a similar spelling, the nearest first; a folder with / at its end. */
async function similarNames(
  entries: readonly WorkspaceEntry[],
  wanted: string,
): Promise<readonly string[]> {
  const similar: { readonly label: string; readonly distance: number }[] = [];
  for await (const piece of yieldingChunks(entries, COMPARED_AT_ONCE)) {
    for (const { name, kind } of piece) {
      if (Math.max(wanted.length, name.length) > MAX_COMPARED_CHARS) continue;
      const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
      const label = kind === 'folder' ? `${name}/` : name;
      if (distance <= Math.max(2, wanted.length / 3)) similar.push({ label, distance });
    }
  }
  similar.sort((a, b) => a.distance - b.distance);
  return similar.slice(0, MAX_SUGGESTIONS).map(({ label }) => label);
}

/** Levenshtein distance. */
function editDistance(one: string, other: string): number {
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
