import { ToolError } from '../../fault/tool.error.js';

/** One line of a hunk: a space before what stays, `-` before what goes, `+` before what comes. */
export interface HunkLine {
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
export class PatchLines {
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
export function hunkLine(line: string): HunkLine | undefined {
  if (line === '') return { kind: ' ', text: '', endsFile: false };
  const kind = line.charAt(0);
  if (kind !== ' ' && kind !== '-' && kind !== '+') return undefined;
  // A byte order mark is no part of a file's first line.
  return { kind, text: line.slice(1).replace(/^\ufeff/, ''), endsFile: false };
}

/** The content of a new file whose lines are given as added. */
export function addedContent(lines: readonly HunkLine[]): string {
  return lines.map(({ text, endsFile }) => (endsFile ? text : `${text}\n`)).join('');
}
