import { ToolError } from '../../fault/tool.error.js';

/** One line of a hunk: a space before what stays, `-` before what goes, `+` before what comes. */
interface HunkLine {
  readonly kind: ' ' | '-' | '+';
  /** Without what ends it. */
  readonly text: string;
  /** The patch says that no newline follows it. */
  readonly endsFile: boolean;
}

export interface Hunk {
  /** Line of the patch at which it begins, for messages. */
  readonly patchLine: number;
  readonly lines: readonly HunkLine[];
  /** The number, from 1, of its first line in the file before; undefined when the patch does not say. */
  readonly oldStart?: number;
  /** Lines of the file after which it is to be looked for, one after the other. */
  readonly anchors: readonly string[];
  /** Its last old line is the last one of the file. */
  readonly atEnd: boolean;
}

/** What a patch does with one file. */
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
      /** Where it is moved to. */
      readonly to?: string;
      readonly hunks: readonly Hunk[];
    };

export function refused(why: string): ToolError {
  return new ToolError('PATCH_REFUSED', `The patch was refused and nothing was changed: ${why}`);
}

/** The lines of a patch, read one after the other. */
class PatchLines {
  private at = 0;
  private readonly lines: readonly string[];

  constructor(patch: string) {
    const lines = patch.split('\n').map((line) => line.replace(/\r$/, ''));
    // What follows the last line end is no line.
    this.lines = lines.at(-1) === '' ? lines.slice(0, -1) : lines;
  }

  /** Number of the next line, from 1. */
  get number(): number {
    return this.at + 1;
  }

  /** The next line, or the one so many after it; undefined behind the end. */
  peek(ahead = 0): string | undefined {
    return this.lines[this.at + ahead];
  }

  next(): string | undefined {
    const line = this.lines[this.at];
    this.at += 1;
    return line;
  }

  skipBlank(): void {
    while (this.peek()?.trim() === '') this.at += 1;
  }
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

/** Reads a patch of either form. PATCH_REFUSED names the line that breaks a rule. */
export function parsePatch(patch: string): PatchSection[] {
  return patch.trimStart().startsWith(BEGIN) ? parseEnvelope(patch) : parseUnified(patch);
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
 */
function parseEnvelope(patch: string): PatchSection[] {
  const lines = new PatchLines(patch);
  lines.skipBlank();
  if (lines.next()?.trim() !== BEGIN) throw refused(`its first line must be "${BEGIN}".`);
  const sections: PatchSection[] = [];
  for (;;) {
    lines.skipBlank();
    const { number } = lines;
    const line = lines.next();
    if (line?.trim() === END) break;
    if (line === undefined) throw refused(`its last line must be "${END}".`);
    sections.push(envelopeSection(line, number, lines));
  }
  lines.skipBlank();
  if (lines.peek() !== undefined) throw refused(`line ${lines.number} follows "${END}".`);
  return sections;
}

function envelopeSection(header: string, number: number, lines: PatchLines): PatchSection {
  const [, kind, path = ''] = /^\*\*\* (Add|Delete|Update) File: (.+)$/.exec(header) ?? [];
  switch (kind) {
    case 'Add':
      return { kind: 'add', path: path.trim(), content: addedIn(lines), executable: false };
    case 'Delete':
      return { kind: 'delete', path: path.trim(), hunks: [] };
    case 'Update':
      return updateIn(path.trim(), lines);
    default:
      throw refused(
        `line ${number} must be "*** Add File: path", "*** Delete File: path", "*** Update File: path" or "${END}".`,
      );
  }
}

function addedIn(lines: PatchLines): string {
  const added: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || line.startsWith('***') || isGap(lines)) return addedContent(added);
    if (!line.startsWith('+')) {
      throw refused(`line ${lines.number}: every line of an added file begins with +.`);
    }
    added.push({ kind: '+', text: line.slice(1), endsFile: false });
    lines.next();
  }
}

function updateIn(path: string, lines: PatchLines): PatchSection {
  const to = /^\*\*\* Move to: (.+)$/.exec(lines.peek() ?? '')?.[1]?.trim();
  if (to !== undefined) lines.next();
  const hunks: Hunk[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || isGap(lines)) break;
    if (line.startsWith('***') && line.trim() !== END_OF_FILE) break;
    hunks.push(envelopeHunk(lines));
  }
  if (hunks.length === 0 && to === undefined) {
    throw refused(`"*** Update File: ${path}" has no hunk. Begin one with @@.`);
  }
  return { kind: 'update', path, hunks, ...(to !== undefined && { to }) };
}

function envelopeHunk(lines: PatchLines): Hunk {
  const patchLine = lines.number;
  const anchors: string[] = [];
  while (lines.peek()?.startsWith('@@')) {
    const anchor = lines.next()?.slice(2).trim();
    if (anchor) anchors.push(anchor);
  }
  const body: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || line.startsWith('@@') || line.startsWith('***') || isGap(lines))
      break;
    const read = hunkLine(line);
    if (!read) {
      throw refused(`line ${lines.number} of a hunk must begin with a space, - or +.`);
    }
    body.push(read);
    lines.next();
  }
  const atEnd = lines.peek()?.trim() === END_OF_FILE;
  if (atEnd) lines.next();
  if (!body.some(({ kind }) => kind !== ' ')) {
    throw refused(`the hunk in line ${patchLine} changes nothing.`);
  }
  return { patchLine, lines: body, anchors, atEnd };
}

/** True at empty lines after which another part begins or the patch ends: they belong to no hunk. */
function isGap(lines: PatchLines): boolean {
  let ahead = 0;
  while (lines.peek(ahead) === '') ahead += 1;
  if (ahead === 0) return false;
  const next = lines.peek(ahead);
  return next === undefined || next.startsWith('*** ') || next.startsWith('@@');
}

/** What the lines before the hunks of one file say. */
interface Header {
  readonly line: number;
  readonly old?: string;
  readonly now?: string;
  readonly from?: string;
  readonly to?: string;
  /** Of `diff --git`: needed where nothing else names the file. */
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
function parseUnified(patch: string): PatchSection[] {
  const lines = new PatchLines(patch);
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
  const found = { old: countOf(body, '+'), now: countOf(body, '-') };
  if (found.old !== announced.old || found.now !== announced.now) {
    throw refused(
      `line ${patchLine} announces ${oldCount} old and ${newCount} new lines, but the hunk has ${found.old} and ${found.now}. Correct the numbers, or use the form that begins with "*** Begin Patch", which needs none.`,
    );
  }
  return {
    ...{ patchLine, lines: body, anchors: [] },
    // Before the first line there is none that the hunk could begin with.
    ...(Number(oldStart) > 0 && { oldStart: Number(oldStart) }),
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
function readName(given: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(given)?.[1];
  return quoted === undefined ? (given.split('\t')[0] ?? '').trimEnd() : unquoted(quoted);
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
