import { formatPatch, structuredPatch } from 'diff';
import type { StructuredPatch, StructuredPatchHunk } from 'diff';
import { kindOf } from '../../protocol/tool-call.js';
import { utf8Text } from '../../protocol/values.js';

/** Maximum size of a file that is compared line by line. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Time limit of the search for the smallest difference; after it, the text between the common ends is replaced. */
const SEARCH_MS = 200;
const CONTEXT_LINES = 3;
/** File type bits that git puts before the permission bits. */
const FILE_MODE = 0o100000;
const NO_NEWLINE = '\\ No newline at end of file';

/** One side of a change: undefined content was not stored. */
export interface DiffSide {
  readonly content: Buffer | undefined;
  /** Mode as in FileState. */
  readonly mode: number;
}

export interface FileDiff {
  /** Lines; null where they cannot be counted: no text, too large, or not stored. */
  readonly additions: number | null;
  readonly deletions: number | null;
  /** Unified, with `a/` and `b/` before the path; for what is no text, a line that says so. Ends in a newline. */
  readonly diff: string;
}

/** Null sides: the file is not there. Takes bounded time. */
export interface DiffInput {
  readonly path: string;
  readonly before: DiffSide | null;
  readonly after: DiffSide | null;
}

/** Describes the change of one file as `git diff` would. */
export function unifiedDiff({ path, before, after }: DiffInput): FileDiff {
  const header = headerOf({ path, before, after });
  const withoutLines = (line: string): FileDiff => ({
    additions: null,
    deletions: null,
    diff: `${formatPatch({ ...header, hunks: [] })}${line}\n`,
  });
  const [old, now] = [contentOf(before), contentOf(after)];
  if (!old || !now) return withoutLines('The content was not kept and cannot be shown.');
  if (old.length > MAX_FILE_BYTES || now.length > MAX_FILE_BYTES) {
    return withoutLines(
      `Too large to compare: ${old.length} bytes before, ${now.length} bytes after.`,
    );
  }
  const [oldText, newText] = [utf8Text(old), utf8Text(now)];
  if (oldText === undefined || newText === undefined) {
    return withoutLines(`Binary files ${header.oldFileName} and ${header.newFileName} differ`);
  }
  const hunks = hunksOf(oldText, newText);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    additions: lines.filter((line) => line.startsWith('+')).length,
    deletions: lines.filter((line) => line.startsWith('-')).length,
    diff: formatPatch({ ...header, hunks }),
  };
}

type Header = Omit<StructuredPatch, 'hunks'>;

function headerOf({ path, before, after }: DiffInput): Header {
  const modes = {
    ...(before && { oldMode: modeOf(before) }),
    ...(after && { newMode: modeOf(after) }),
  };
  return {
    isGit: true,
    oldFileName: before ? `a/${path}` : '/dev/null',
    newFileName: after ? `b/${path}` : '/dev/null',
    oldHeader: undefined,
    newHeader: undefined,
    ...(!before && { isCreate: true }),
    ...(!after && { isDelete: true }),
    // Git tells of modes only where they differ.
    ...(before && after && before.mode === after.mode ? {} : modes),
  };
}

function modeOf({ mode }: DiffSide): string {
  const kind = kindOf(mode) === 'file' ? FILE_MODE : 0;
  return (mode | kind).toString(8).padStart(6, '0');
}

function contentOf(side: DiffSide | null): Buffer | undefined {
  return side ? side.content : Buffer.alloc(0);
}

function hunksOf(before: string, after: string): StructuredPatchHunk[] {
  if (before === after) return [];
  const patch = structuredPatch('', '', before, after, undefined, undefined, {
    context: CONTEXT_LINES,
    timeout: SEARCH_MS,
  });
  return patch ? patch.hunks : [replacement(linesOf(before), linesOf(after))];
}

/** A right difference, though not the smallest: all between the first and the last line that differ. */
function replacement(before: readonly string[], after: readonly string[]): StructuredPatchHunk {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const start = Math.max(0, head - CONTEXT_LINES);
  const end = before.length - tail;
  const marked = [
    ...before.slice(start, head).map((line) => ` ${line}`),
    ...before.slice(head, end).map((line) => `-${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+${line}`),
    ...before.slice(end, end + CONTEXT_LINES).map((line) => ` ${line}`),
  ];
  const around = head - start + Math.min(tail, CONTEXT_LINES);
  return {
    oldStart: start + 1,
    oldLines: end - head + around,
    newStart: start + 1,
    newLines: after.length - tail - head + around,
    lines: marked.flatMap((line) =>
      line.endsWith('\n') ? [line.slice(0, -1)] : [line, NO_NEWLINE],
    ),
  };
}

/** Lines of the text, each with its newline. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
