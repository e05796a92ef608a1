import { posix } from 'node:path';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { OpenFile } from '../../../platform/filesystem/index.js';
import type { PolicySubject } from '../../protocol/policy.js';
import { SecretMask } from '../../store/secret-mask.js';
import { opensSecret } from '../../workspace/secret-content.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../tool.js';
import { askedFor, counted, pathText, ShownLines, TimeLimit } from '../answer.js';
import { FileSearch, invalidPattern, searchPlace, withShownFile } from './file-search.js';
import type { FoundLine, TextQuery } from './file-search.js';
import { SearchPatternError, SearchStoppedError } from './glob.js';

const MATCHES = 100;
const SECONDS = 30;
/** Characters of a line that are shown. */
const CHARACTERS = 500;
/** Of these, the ones before the first match where the beginning of a line is cut off. */
const CHARACTERS_BEFORE = 200;
/** Bytes that may be needed to show that many characters. */
const WINDOW_BYTES = (CHARACTERS + CHARACTERS_BEFORE) * 4;

const oneLine = /^[^\p{Cc}]*$/u;

const input = z.strictObject({
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
type Input = z.infer<typeof input>;

/** A line that was read again from the workspace. */
interface ConfirmedLine {
  readonly line: number;
  readonly text: string;
  readonly isMatch: boolean;
  /** Lines before it are left out. */
  readonly isApart: boolean;
}

interface Found {
  /** In the order of the files, with the lines of each. */
  readonly files: Map<string, ConfirmedLine[]>;
  readonly matches: number;
  /** Why there may be more. */
  readonly end: 'all' | 'matches' | 'time';
}

/** Finds lines by their content. */
@Injectable()
export class SearchTextTool implements ReadTool<Input> {
  readonly name = 'search_text';
  readonly effectClass = 'READ';
  readonly input = input;
  readonly description =
    'Searches the content of files of the workspace, line by line, and answers path, line number and line: "12:" before a match, "11-" before a line around it. At most 100 matches and 500 characters of a line. Leaves out what .gitignore leaves out, binary files, files above 20 MiB, files that may hold secrets (.env*, keys, credentials), links, and folders named .git, .idea, node_modules, target, dist and build; name such a folder as path to look in it. Use read_file to see more of a file, glob_files to find files by name.';

  constructor(
    private readonly search: FileSearch,
    private readonly mask: SecretMask,
  ) {}

  title({ pattern, path }: Input): string {
    return path === undefined ? `search for ${pattern}` : `search for ${pattern} in ${path}`;
  }

  /** Secret files are never searched, so no consent is needed. */
  async subject({ path = '' }: Input, { workspace }: ToolContext): Promise<PolicySubject> {
    workspace.pathOf(path);
    return { kind: 'read', secret: false };
  }

  async run(given: Input, context: ToolContext): Promise<ToolOutcome> {
    const { pattern, glob, ignoreCase = false, literal = false, context: around = 0 } = given;
    const path = await searchPlace(context.workspace, given.path);
    const { root } = context.workspace;
    const query = { root, path, glob, pattern, ignoreCase, literal, context: around };
    const found = await this.found(query, context);
    return found.matches === 0 ? nothing(found, pattern) : outcome(found, pattern);
  }

  private async found(query: TextQuery, { workspace, signal }: ToolContext): Promise<Found> {
    const time = new TimeLimit(signal, SECONDS);
    const files: Found['files'] = new Map();
    let matches = 0;
    const add = async (lines: readonly FoundLine[]): Promise<void> => {
      const [first] = lines;
      if (!first) return;
      const confirmed =
        (await withShownFile(workspace, first.path, (file) => this.shown(file, lines))) ?? [];
      const kept = upToMatches(confirmed, MATCHES - matches);
      matches += kept.filter(({ isMatch }) => isMatch).length;
      if (kept.length > 0) files.set(first.path, [...(files.get(first.path) ?? []), ...kept]);
    };
    try {
      for await (const lines of ofOneFile(this.search.lines(query, time.signal))) {
        await add(lines);
        if (matches >= MATCHES) return { files, matches, end: 'matches' };
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

  /** Nothing of a file whose content makes it a secret. */
  private async shown(file: OpenFile, lines: readonly FoundLine[]): Promise<ConfirmedLine[]> {
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
      const from = column > CHARACTERS && !isMasked ? column - CHARACTERS_BEFORE : 0;
      const wanted = isMasked ? bytes : bytes.subarray(from, from + WINDOW_BYTES);
      const found = await file.part(offset + from, wanted.length);
      if (!found.equals(wanted)) continue;
      const isApart = last !== undefined && line > last + 1;
      last = line;
      const isLonger = from + wanted.length < bytes.length;
      const text = clippedLine(isMasked ? masked : found, { isBegun: from > 0, isLonger });
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
  const text = whole.slice(0, CHARACTERS).toWellFormed();
  return `${isBegun ? '… ' : ''}${text}${isLonger || text.length < whole.length ? ' …' : ''}`;
}

/** Lines of one file at a time, and never more of them than are looked at. */
async function* ofOneFile(lines: AsyncIterable<FoundLine>): AsyncGenerator<FoundLine[]> {
  let begun: FoundLine[] = [];
  for await (const line of lines) {
    const [first] = begun;
    if (first && (first.path !== line.path || begun.length === MATCHES)) {
      yield begun;
      begun = [];
    }
    begun.push(line);
  }
  if (begun.length > 0) yield begun;
}

/** The lines until so many matches are among them, with what stands around the last. */
function upToMatches(lines: readonly ConfirmedLine[], matches: number): ConfirmedLine[] {
  let left = matches;
  const end = lines.findIndex(({ isMatch }) => isMatch && left-- === 0);
  return end < 0 ? [...lines] : lines.slice(0, end);
}

function nothing({ end }: Found, pattern: string): ToolOutcome {
  const isCut = end !== 'all';
  const cut = isCut ? ' in what was searched before the limits. Search a smaller folder' : '';
  return {
    content: `No line fits ${askedFor(pattern)}${cut}. Check the spelling, or try ignoreCase, literal or a wider pattern.`,
    summary: `no match for ${askedFor(pattern)}`,
    truncated: isCut,
  };
}

function outcome({ files, matches, end }: Found, pattern: string): ToolOutcome {
  const shown = new ShownLines();
  let fits = true;
  for (const [path, lines] of files) {
    fits = shown.add('', pathText(path)) && lines.every((line) => shown.add(...textOf(line)));
    if (!fits) break;
  }
  const isCut = !fits || end !== 'all';
  const remark = isCut
    ? `[There may be more matches${end === 'time' ? ', because the search took too long' : ''}. Use a narrower pattern, a path or a glob.]`
    : undefined;
  return {
    content: shown.text(remark),
    summary: `found ${counted(matches, 'match')}${isCut ? ' and more' : ''} in ${counted(files.size, 'file')} for ${askedFor(pattern)}`,
    truncated: isCut,
  };
}

function textOf({ line, text, isMatch, isApart }: ConfirmedLine): string[] {
  return [...(isApart ? ['--'] : []), `${line}${isMatch ? ':' : '-'} ${text}`];
}
