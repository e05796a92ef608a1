import { posix } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ToolError } from '../../fault/tool.error.js';
import type { PolicySubject } from '../../protocol/policy.js';
import { inTurns } from '../../protocol/turns.js';
import { SecretMask } from '../../store/secret-mask.js';
import { isJudgedByContent, opensSecret } from '../../workspace/secret-content.js';
import { utf8Text } from '../../workspace/utf8-text.js';
import type { Workspace, WorkspaceEntry, WorkspaceFile } from '../../workspace/workspace.js';
import { clipped, counted, pathText, ShownLines, sizeOf, TimeLimit } from '../answer.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';

const LINES = 2_000;
const FILE_BYTES = 20 * 1024 * 1024;
const SECONDS = 30;
const LINE_CHARACTERS = 2_000;
const LINE_FEED = 0x0a;
const SUGGESTIONS = 3;
/** Names of a folder that are compared with a misspelled one, unless one of them is longer: some tenths of a second in all. */
const COMPARED_NAMES = 2_000;
const COMPARED_CHARACTERS = 100;
/** A few milliseconds; then other work gets its turn. */
const COMPARED_AT_ONCE = 50;

const input = z.strictObject({
  path: z.string().describe('Path of the file, relative to the workspace.'),
  offset: z.int().min(1).optional().describe('First line to show, counted from 1. Default 1.'),
  limit: z.int().min(1).max(LINES).optional().describe('Lines to show at most. Default 2000.'),
});
type Input = z.infer<typeof input>;

/** Shows the model a text file, and records what it has seen of it. */
@Injectable()
export class ReadFileTool implements ReadTool<Input> {
  readonly name = 'read_file';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Shows a text file of the workspace. Each line begins with its number and a tab, which are not part of the file. Shows at most 2000 lines, 2000 characters of a line and 46 KiB, and says how to go on. Reads files up to 20 MiB; binary files are refused. Read a file before you edit or overwrite it. Use search_text to find something in many files or in a long one, list_files for folders.';

  constructor(private readonly mask: SecretMask) {}

  title({ path }: Input): string {
    return `read ${path}`;
  }

  /** Whether the file is secret, by its name or its content. NOT_FOUND names similar paths; SECRET_PATH for a link to a secret file. */
  async subject({ path: given }: Input, { workspace }: ToolContext): Promise<PolicySubject> {
    const path = workspace.pathOf(given);
    const realPath = await withSuggestions(workspace, path, () => workspace.realPathOf(path));
    requireNoSecretLink(workspace, path, realPath);
    return { kind: 'read', secret: await isSecret(workspace, path) };
  }

  async run(given: Input, context: ToolContext): Promise<ToolOutcome> {
    const { offset = 1, limit = LINES } = given;
    const file = await readTextFile(context, given.path);
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
async function readTextFile({ workspace, signal }: ToolContext, given: string): Promise<TextFile> {
  const path = workspace.pathOf(given);
  const time = new TimeLimit(signal, SECONDS);
  const file = await withSuggestions(workspace, path, () =>
    workspace.read(path, { limitBytes: FILE_BYTES, signal: time.signal }),
  ).catch((error: unknown) => {
    time.check();
    throw error;
  });
  const { realPath, sha256, bytes, size } = file;
  // It may have become a link since the policy was asked.
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
  const shown = new ShownLines();
  let last = offset - 1;
  for (const line of lines) {
    // The editing tools handle carriage returns themselves.
    const visible = clipped(masked(line.replace(/\r$/, '')), LINE_CHARACTERS);
    if (!shown.add(`${last + 1}\t${visible}`)) break;
    last += 1;
  }
  const remark =
    last < total
      ? `[Lines ${offset} to ${last} of ${total}. Go on with offset=${last + 1}.]`
      : `[End of the file, ${counted(total, 'line')}.]`;
  return { content: shown.text(remark), lines: last - offset + 1, total, isCut: last < total };
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
  // What cannot be opened is refused when it is read.
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
    const entries = await workspace.entries(folder, COMPARED_NAMES).catch(() => undefined);
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
  const similar: { readonly shown: string; readonly distance: number }[] = [];
  for await (const piece of inTurns(entries, COMPARED_AT_ONCE)) {
    for (const { name, kind } of piece) {
      if (Math.max(wanted.length, name.length) > COMPARED_CHARACTERS) continue;
      const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
      const shown = kind === 'folder' ? `${name}/` : name;
      if (distance <= Math.max(2, wanted.length / 3)) similar.push({ shown, distance });
    }
  }
  similar.sort((a, b) => a.distance - b.distance);
  return similar.slice(0, SUGGESTIONS).map(({ shown }) => shown);
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
