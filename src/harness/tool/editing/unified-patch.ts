import { addedContent, hunkLine, PatchLines, refused } from './patch.js';
import type { Hunk, HunkLine, PatchSection } from './patch.js';
import { readName } from './patch-name.js';
import type { PatchName } from './patch-name.js';

/** What the lines before the hunks of one file say. */
interface Header {
  readonly line: number;
  readonly old?: PatchName;
  readonly now?: PatchName;
  readonly from?: string;
  readonly to?: string;
  /** Of `diff --git`: needed where nothing else names the file. */
  readonly named?: string;
  readonly newMode?: string;
  readonly isDeleted?: boolean;
}

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
 * hunk's header must be those of its body. PATCH_REFUSED names the line that breaks a rule.
 */
export function parseUnified(patch: string): PatchSection[] {
  const lines = new PatchLines(patch);
  const sections: PatchSection[] = [];
  for (;;) {
    lines.skipBlank();
    if (lines.peek() === undefined) return sections;
    const header = headerIn(lines);
    const hunks: Hunk[] = [];
    while (lines.peek()?.startsWith('@@')) hunks.push(hunkIn(lines));
    sections.push(sectionOf(header, hunks));
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
  if (line.startsWith('rename from ')) return { from: readName(line.slice(12)).name };
  if (line.startsWith('rename to ')) return { to: readName(line.slice(10)).name };
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

function sectionOf(header: Header, hunks: readonly Hunk[]): PatchSection {
  const { old, now, from, to, named = '', newMode, isDeleted, line } = header;
  if (from !== undefined || to !== undefined) {
    if (from === undefined || to === undefined) {
      throw refused(`line ${line}: a move needs both "rename from" and "rename to".`);
    }
    return { kind: 'update', path: from, to, hunks };
  }
  if (!old || !now) return withoutNames(header, hunks, named);
  if (old.isNull && now.isNull) throw refused(`line ${line}: both names are /dev/null.`);
  if (old.isNull) {
    return {
      kind: 'add',
      path: now.without('b/'),
      content: contentOf(hunks, line),
      executable: newMode === '100755',
    };
  }
  if (now.isNull || isDeleted) return { kind: 'delete', path: old.without('a/'), hunks };
  const hasPrefixes = old.has('a/') && now.has('b/');
  const [path, other] = hasPrefixes ? [old.without('a/'), now.without('b/')] : [old.name, now.name];
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
  { line, newMode, isDeleted }: Header,
  hunks: readonly Hunk[],
  named: string,
): PatchSection {
  if (named !== '' && hunks.length === 0) {
    if (newMode !== undefined) {
      return { kind: 'add', path: named, content: '', executable: newMode === '100755' };
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

function hunkIn(lines: PatchLines): Hunk {
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
