import { ToolError } from '../../protocol/tool-call.js';
import { TextLines } from '../tool.js';
import { indentOf } from './text-edit.js';

/** One line of a hunk: a space before unchanged lines, `-` before removed ones, `+` before added ones. */
interface HunkLine {
  readonly kind: ' ' | '-' | '+';
  /** Text of the line without its line end. */
  readonly text: string;
  /** The patch says that no newline follows it. */
  readonly endsFile: boolean;
}

export interface Hunk {
  /** Line of the patch at which it begins, for messages. */
  readonly patchLine: number;
  readonly lines: readonly HunkLine[];
  /**
   * The number, from 1, of its first line in the file before or, of a hunk that only adds lines, of the line before them, 0
   * for none; undefined when the patch does not say.
   */
  readonly oldStart?: number;
  /** Lines of the file after which it is to be looked for, one after the other. */
  readonly anchors: readonly string[];
  /** Its last old line is the last one of the file. */
  readonly atEnd: boolean;
}

/** Operation of a patch on one file. */
export type PatchSection =
  | {
      readonly kind: 'add';
      readonly path: string;
      readonly content: string;
      readonly executable: boolean;
    }
  | { readonly kind: 'delete'; readonly path: string; readonly hunks: readonly Hunk[] }
  | {
      readonly kind: 'update';
      readonly path: string;
      /** New path of a moved file. */
      readonly to?: string;
      readonly hunks: readonly Hunk[];
    };

export function refused(why: string): ToolError {
  return new ToolError('PATCH_REFUSED', `The patch was refused and nothing was changed: ${why}`);
}

/** The lines of a patch, read one after the other, without what it is wrapped in. */
class PatchLines {
  private at: number;
  private readonly end: number;
  private readonly lines: readonly string[];
  /** The first line from the next one on that is not empty, as far as that was looked for. */
  private emptyUntil = 0;
  /** The last line that is not blank. */
  private readonly last: number;

  constructor(patch: string) {
    const lines = [...new TextLines(patch)];
    const { from, to } = unwrapped(lines);
    this.at = from;
    this.end = to;
    this.lines = dedented(lines, from, to);
    this.last = this.lines.slice(0, to).findLastIndex((line) => line.trim() !== '');
  }

  /** Number of the next line, from 1. */
  get number(): number {
    return this.at + 1;
  }

  /** The next line, or the one `ahead` lines after it; undefined behind the end. */
  peek(ahead = 0): string | undefined {
    return this.at + ahead < this.end ? this.lines[this.at + ahead] : undefined;
  }

  /** Number of empty lines that follow. Each line is inspected once, however often this is called. */
  get empty(): number {
    this.emptyUntil = Math.max(this.emptyUntil, this.at);
    while (this.emptyUntil < this.end && this.lines[this.emptyUntil] === '') this.emptyUntil += 1;
    return this.emptyUntil - this.at;
  }

  /** Whether nothing but blank lines follows the next line, or the one so many after it. */
  isLast(ahead: number): boolean {
    return this.at + ahead >= this.last;
  }

  next(): string | undefined {
    const line = this.peek();
    this.at += 1;
    return line;
  }

  skipBlank(): void {
    while (this.peek()?.trim() === '') this.at += 1;
  }
}

/** A fence of Markdown, and the beginning of a here document for a program that takes patches. */
const FENCE = /^\s*(`{3,}|~{3,})[\w-]*\s*$/;
const HEREDOC =
  /^\s*(?:(?:apply_patch|applypatch|git apply|patch|cat)\b[^<>;&|]*)?<<-?\s*(['"‘“]?)(\w+)['"’”]?\s*(?:\|\s*(?:apply_patch|git apply|patch)\b[^;&|]*)?$/;
/** Maximum nesting of wrappers. */
const MAX_WRAPPERS = 4;

/** Bounds of the patch itself: models wrap it in a fence, or in a here document. */
function unwrapped(lines: readonly string[]): { readonly from: number; readonly to: number } {
  const isBlank = (at: number): boolean => lines[at]?.trim() === '';
  let [from, to] = [0, lines.length];
  while (isBlank(from)) from += 1;
  for (let wrappers = 0; wrappers < MAX_WRAPPERS; wrappers += 1) {
    let last = to - 1;
    while (isBlank(last)) last -= 1;
    const end = endOfWrapper(lines[from] ?? '');
    if (end === undefined || last <= from || lines[last]?.trim() !== end) break;
    from += 1;
    to = last;
    while (from < to && isBlank(from)) from += 1;
  }
  return { from, to };
}

/** The last line of what begins with this line; undefined when it begins nothing. */
function endOfWrapper(line: string): string | undefined {
  return FENCE.exec(line)?.[1] ?? HEREDOC.exec(line)?.[2];
}

/** A patch in an envelope whose lines all have the indentation of its first one, without it. */
function dedented(lines: readonly string[], from: number, to: number): readonly string[] {
  const indent = indentOf(lines[from] ?? '');
  const isBlank = (line: string): boolean => line.trim() === '';
  const wrappedLines = lines.slice(from, to);
  if (indent === '' || !isMarker(lines[from])) return lines;
  if (!wrappedLines.every((line) => line.startsWith(indent) || isBlank(line))) return lines;
  const inner = wrappedLines.map((line) => (isBlank(line) ? '' : line.slice(indent.length)));
  return [...lines.slice(0, from), ...inner];
}

const MARKER = /^(?:(?:Begin|End) Patch$|End of File$|(?:Add|Delete|Update) File: |Move to: )/;

/** Whether the line is a marker of an envelope, however it is indented. */
function isMarker(line = ''): boolean {
  const text = line.trim();
  return text.startsWith('*** ') && MARKER.test(text.slice(4));
}

/** A line of a hunk's body, an empty one standing for an empty line that stays; undefined for any other line. */
function hunkLine(line: string): HunkLine | undefined {
  if (line === '') return { kind: ' ', text: '', endsFile: false };
  const kind = line.charAt(0);
  if (kind !== ' ' && kind !== '-' && kind !== '+') return undefined;
  // A byte order mark is no part of a file's first line.
  return { kind, text: line.slice(1).replace(/^\ufeff/, ''), endsFile: false };
}

/** The content of a new file whose lines are given as added. */
function addedContent(lines: readonly HunkLine[]): string {
  return lines.map(({ text, endsFile }) => (endsFile ? text : `${text}\n`)).join('');
}

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';

/** Reads a patch of either form, in a fence or a here document or without. PATCH_REFUSED names the line that breaks a rule. */
export function parsePatch(patch: string): PatchSection[] {
  const lines = new PatchLines(patch);
  return lines.peek()?.trim().startsWith(BEGIN) ? parseEnvelope(lines) : parseUnified(lines);
}

/**
 * Reads a patch of this form.
 *
 *     *** Begin Patch
 *     *** Add File: path            each line of the content after a +
 *     *** Delete File: path
 *     *** Update File: path         then hunks
 *     *** Move to: path             at most once, right after an Update File
 *     @@ a line of the file         begins a hunk; the hunk is looked for behind that line. A bare @@ has no such line,
 *                                   several @@ lines are looked for one after the other
 *     *** End of File               after a hunk: it ends with the file
 *     *** End Patch
 *
 * Its markers may be indented. In a hunk, where such a line could be one of the file, it is a marker only with the
 * indentation of a marker before it, or as the last line of the patch.
 */
function parseEnvelope(lines: PatchLines): PatchSection[] {
  const markers = new Markers();
  if (markers.read(lines.next()) !== BEGIN) throw refused(`its first line must be "${BEGIN}".`);
  const sections: PatchSection[] = [];
  for (;;) {
    lines.skipBlank();
    const { number } = lines;
    const line = lines.next();
    if (line === undefined) throw refused(`its last line must be "${END}".`);
    const marker = markers.read(line);
    if (marker === END) break;
    sections.push(envelopeSection(marker, number, { lines, markers }));
  }
  lines.skipBlank();
  if (lines.peek() !== undefined) throw refused(`line ${lines.number} follows "${END}".`);
  return sections;
}

/** Distinguishes markers of an envelope from lines of a file. */
class Markers {
  private readonly indents = new Set(['']);

  /** The line where only a marker can be, without its indentation, which is one of markers from then on. */
  read(line = ''): string {
    if (isMarker(line)) this.indents.add(indentOf(line));
    return line.trim();
  }

  /** The next line without its indentation if it is a marker, also in a hunk; undefined for any other. */
  in(lines: PatchLines, ahead = 0): string | undefined {
    const line = lines.peek(ahead);
    if (line === undefined) return undefined;
    const text = line.trim();
    const isKnown = this.indents.has(indentOf(line));
    if (isKnown && (text.startsWith('***') || text.startsWith('@@'))) return text;
    return text === END && lines.isLast(ahead) ? text : undefined;
  }

  /** True at empty lines after which another part begins or the patch ends: they belong to no hunk. */
  isGap(lines: PatchLines): boolean {
    const ahead = lines.empty;
    if (ahead === 0) return false;
    return lines.peek(ahead) === undefined || this.in(lines, ahead) !== undefined;
  }
}

interface Envelope {
  readonly lines: PatchLines;
  readonly markers: Markers;
}

function envelopeSection(header: string, number: number, envelope: Envelope): PatchSection {
  const [, kind, path = ''] = /^\*\*\* (Add|Delete|Update) File: (.+)$/.exec(header) ?? [];
  switch (kind) {
    case 'Add':
      return { kind: 'add', path: path.trim(), content: addedIn(envelope), executable: false };
    case 'Delete':
      return { kind: 'delete', path: path.trim(), hunks: [] };
    case 'Update':
      return updateIn(path.trim(), envelope);
    default:
      throw refused(
        `line ${number} must be "*** Add File: path", "*** Delete File: path", "*** Update File: path" or "${END}".`,
      );
  }
}

function addedIn({ lines, markers }: Envelope): string {
  const added: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || line.startsWith('***') || isMarker(line) || markers.isGap(lines)) {
      return addedContent(added);
    }
    if (!line.startsWith('+')) {
      throw refused(`line ${lines.number}: every line of an added file begins with +.`);
    }
    added.push({ kind: '+', text: line.slice(1), endsFile: false });
    lines.next();
  }
}

function updateIn(path: string, envelope: Envelope): PatchSection {
  const { lines, markers } = envelope;
  const isMove = isMarker(lines.peek()) && lines.peek()?.trim().startsWith('*** Move to: ');
  const to = isMove ? markers.read(lines.next()).slice('*** Move to: '.length).trim() : undefined;
  const hunks: Hunk[] = [];
  for (;;) {
    if (lines.peek() === undefined || markers.isGap(lines)) break;
    const marker = markers.in(lines);
    if (marker?.startsWith('***') && marker !== END_OF_FILE) break;
    hunks.push(envelopeHunk(envelope));
  }
  if (hunks.length === 0 && to === undefined) {
    throw refused(`"*** Update File: ${path}" has no hunk. Begin one with @@.`);
  }
  return { kind: 'update', path, hunks, ...(to !== undefined && { to }) };
}

function envelopeHunk({ lines, markers }: Envelope): Hunk {
  const patchLine = lines.number;
  const anchors: string[] = [];
  for (;;) {
    const marker = markers.in(lines);
    if (!marker?.startsWith('@@')) break;
    const anchor = marker.slice(2).trim();
    if (anchor) anchors.push(anchor);
    lines.next();
  }
  const body: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || markers.in(lines) !== undefined || markers.isGap(lines)) break;
    const read = hunkLine(line);
    if (!read) {
      throw refused(`line ${lines.number} of a hunk must begin with a space, - or +.`);
    }
    body.push(read);
    lines.next();
  }
  const atEnd = markers.in(lines) === END_OF_FILE;
  if (atEnd) lines.next();
  if (!body.some(({ kind }) => kind !== ' ')) {
    throw refused(`the hunk in line ${patchLine} changes nothing.`);
  }
  return { patchLine, lines: body, anchors, atEnd };
}

/** Fields of the lines before the hunks of one file. */
interface Header {
  readonly line: number;
  readonly old?: string;
  readonly now?: string;
  readonly from?: string;
  readonly to?: string;
  /** Name in `diff --git`: needed when no other line names the file. */
  readonly named?: string;
  readonly newMode?: string;
  readonly isDeleted?: boolean;
}

/** The name of a file that is not there on one side. */
const NO_FILE = '/dev/null';
const EXECUTABLE = '100755';
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const IGNORED = /^(Index: |=+$|index [\da-f]+\.\.[\da-f]+|similarity index |dissimilarity index )/;
const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [/^(GIT binary patch|Binary files )/, 'binary files cannot be patched'],
  [/^(old|new) mode /, 'permissions cannot be changed by a patch'],
  [/^copy (from|to) /, 'copies are not supported; add the file instead'],
];

/**
 * Reads a unified diff, with or without the lines of git around it: names with the prefixes a/ and b/ or with none,
 * /dev/null for a file that is added or deleted, `rename from` and `rename to` for a move. The numbers of lines in a
 * hunk's header must be those of its body.
 */
function parseUnified(lines: PatchLines): PatchSection[] {
  const sections: PatchSection[] = [];
  for (;;) {
    lines.skipBlank();
    if (lines.peek() === undefined) return sections;
    const header = headerIn(lines);
    const hunks: Hunk[] = [];
    while (lines.peek()?.startsWith('@@')) hunks.push(unifiedHunk(lines));
    sections.push(unifiedSection(header, hunks));
  }
}

function headerIn(lines: PatchLines): Header {
  let header: Header = { line: lines.number };
  for (;;) {
    const { number } = lines;
    const line = lines.peek();
    if (line === undefined || line === '' || line.startsWith('@@')) return header;
    const isNext = line.startsWith('diff --git ') || line.startsWith('--- ');
    if (
      isNext &&
      (header.old !== undefined || (header.named !== undefined && line.startsWith('d')))
    ) {
      return header;
    }
    header = { ...header, ...headerLine(line, number) };
    lines.next();
  }
}

function headerLine(line: string, number: number): Partial<Header> {
  for (const [pattern, why] of UNSUPPORTED) {
    if (pattern.test(line)) throw refused(`line ${number}: ${why}.`);
  }
  if (IGNORED.test(line)) return {};
  if (line.startsWith('--- ')) return { old: readName(line.slice(4)) };
  if (line.startsWith('+++ ')) return { now: readName(line.slice(4)) };
  if (line.startsWith('rename from ')) return { from: readName(line.slice(12)) };
  if (line.startsWith('rename to ')) return { to: readName(line.slice(10)) };
  if (line.startsWith('deleted file mode ')) return { isDeleted: true };
  const mode = /^new file mode (100644|100755)$/.exec(line)?.[1];
  if (mode !== undefined) return { newMode: mode };
  if (line.startsWith('diff --git ')) return { named: namedTwice(line.slice(11)) };
  throw refused(
    `line ${number} is no part of a unified diff. Give "--- a/path", "+++ b/path" and hunks, or the form that begins with "*** Begin Patch".`,
  );
}

/** The name in `a/name b/name`; empty where the names differ: other lines say them then. */
function namedTwice(names: string): string {
  const [old, now] = [names.slice(0, (names.length - 1) / 2), names.slice((names.length + 1) / 2)];
  const isSame = names === `${old} ${now}` && old.slice(2) === now.slice(2);
  return isSame && old.startsWith('a/') && now.startsWith('b/') ? old.slice(2) : '';
}

function unifiedSection(header: Header, hunks: readonly Hunk[]): PatchSection {
  const { old, now, from, to, newMode, isDeleted, line } = header;
  if (from !== undefined || to !== undefined) {
    if (from === undefined || to === undefined) {
      throw refused(`line ${line}: a move needs both "rename from" and "rename to".`);
    }
    return { kind: 'update', path: from, to, hunks };
  }
  if (old === undefined || now === undefined) return withoutNames(header, hunks);
  if (old === NO_FILE && now === NO_FILE) throw refused(`line ${line}: both names are ${NO_FILE}.`);
  if (old === NO_FILE) {
    return {
      kind: 'add',
      path: without('b/', now),
      content: contentOf(hunks, line),
      executable: newMode === EXECUTABLE,
    };
  }
  if (now === NO_FILE || isDeleted) return { kind: 'delete', path: without('a/', old), hunks };
  const hasPrefixes = old.startsWith('a/') && now.startsWith('b/');
  const [path, other] = hasPrefixes ? [old.slice(2), now.slice(2)] : [old, now];
  if (path !== other) {
    throw refused(
      `line ${line}: the names ${path} and ${other} differ. Move a file with "rename from" and "rename to".`,
    );
  }
  if (hunks.length === 0) throw refused(`line ${line}: there is no hunk for ${path}.`);
  return { kind: 'update', path, hunks };
}

/** Git names an empty file that is added or deleted in its first line alone. */
function withoutNames(
  { line, named = '', newMode, isDeleted }: Header,
  hunks: readonly Hunk[],
): PatchSection {
  if (named !== '' && hunks.length === 0) {
    if (newMode !== undefined) {
      return { kind: 'add', path: named, content: '', executable: newMode === EXECUTABLE };
    }
    if (isDeleted) return { kind: 'delete', path: named, hunks };
  }
  throw refused(
    `line ${line}: "--- a/path" and "+++ b/path" must come before the hunks of a file.`,
  );
}

function contentOf(hunks: readonly Hunk[], line: number): string {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (hunks.length > 1 || lines.some(({ kind }) => kind !== '+')) {
    throw refused(`line ${line}: a file that is added has one hunk, with nothing but + lines.`);
  }
  return addedContent(lines);
}

function unifiedHunk(lines: PatchLines): Hunk {
  const patchLine = lines.number;
  const header = lines.next() ?? '';
  const match = HUNK.exec(header);
  if (!match) {
    throw refused(
      `line ${patchLine} must be a hunk header such as "@@ -12,7 +12,8 @@". The form that begins with "*** Begin Patch" needs no numbers.`,
    );
  }
  const [, oldStart = '0', oldCount = '1', , newCount = '1'] = match;
  const announced = { old: Number(oldCount), now: Number(newCount) };
  const body = bodyIn(lines, announced);
  const counted = { old: countOf(body, '+'), now: countOf(body, '-') };
  if (counted.old !== announced.old || counted.now !== announced.now) {
    throw refused(
      `line ${patchLine} announces ${oldCount} old and ${newCount} new lines, but the hunk has ${counted.old} and ${counted.now}. Correct the numbers, or use the form that begins with "*** Begin Patch", which needs none.`,
    );
  }
  return {
    patchLine,
    lines: body,
    anchors: [],
    oldStart: Number(oldStart),
    atEnd: body.some(({ endsFile }) => endsFile),
  };
}

/** The announced lines, and whatever else is plainly meant to be a line of the hunk, so that the message can count it. */
function bodyIn(
  lines: PatchLines,
  announced: { readonly old: number; readonly now: number },
): HunkLine[] {
  const body: HunkLine[] = [];
  let { old, now } = announced;
  for (;;) {
    const line = lines.peek();
    if (line?.startsWith('\\')) {
      markLast(body);
      lines.next();
      continue;
    }
    const isComplete = old <= 0 && now <= 0;
    const read = line === undefined || (isComplete && !isExtra(lines)) ? undefined : hunkLine(line);
    if (!read) return body;
    if (read.kind !== '+') old -= 1;
    if (read.kind !== '-') now -= 1;
    body.push(read);
    lines.next();
  }
}

/** Whether the line behind a complete hunk is one too many; the header of the next file begins with --- as well. */
function isExtra(lines: PatchLines): boolean {
  const line = lines.peek() ?? '';
  return /^[ +-]/.test(line) && !(line.startsWith('--- ') && lines.peek(1)?.startsWith('+++ '));
}

function markLast(body: HunkLine[]): void {
  const last = body.pop();
  if (last) body.push({ ...last, endsFile: true });
}

function countOf(body: readonly HunkLine[], other: '+' | '-'): number {
  return body.filter(({ kind }) => kind !== other).length;
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Reads a name as git and diff write it: quoted where it holds odd characters, with a time after a tab at most. */
function readName(field: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(field)?.[1];
  return quoted === undefined ? (field.split('\t')[0] ?? '').trimEnd() : unquoted(quoted);
}

function without(prefix: string, name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The escapes stand for bytes of UTF-8, in octal or by a letter as in C. */
function unquoted(text: string): string {
  const parts = text.match(/\\[0-3][0-7]{2}|\\.|[^\\]+/gs) ?? [];
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part);
      if (part.length === 4) return Buffer.of(Number.parseInt(part.slice(1), 8));
      const code = ESCAPES[part.charAt(1)];
      return code === undefined ? Buffer.from(part) : Buffer.of(code);
    }),
  ).toString('utf8');
}
