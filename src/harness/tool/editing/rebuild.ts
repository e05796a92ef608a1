import type { Line } from './text-content.js';

export interface Replacement {
  /** The part as it is in the file. */
  readonly part: string;
  /** How lines end around it. */
  readonly usualEnd: '\n' | '\r\n';
  /** What stands for the part, line by line, with `\n` between the lines. */
  readonly oldText: string;
  readonly newText: string;
  /** The new text as it is written where it differs in spaces; line by line as the new text. */
  readonly fitted?: string;
}

/**
 * The part as it is after the replacement: the lines at its beginning and end that old and new text have in common stay
 * as they are in the file, and the others end as the lines in whose places they come, or else as the line before them.
 */
export function rebuilt({
  part,
  usualEnd,
  oldText,
  newText,
  fitted = newText,
}: Replacement): string {
  const pieces = piecesOf(part);
  const [before, after, written] = [oldText, newText, fitted].map((text) => text.split('\n'));
  const [old = [], now = [], fit = []] = [before, after, written];
  const { head, tail } = commonEnds(old, now);
  const changed = fit.slice(head, now.length - tail).map((text, index): Line => {
    const place = head + index;
    return { text, end: place < pieces.length - tail ? (pieces[place]?.end ?? '') : '' };
  });
  const all = [...pieces.slice(0, head), ...changed, ...pieces.slice(pieces.length - tail)];
  let last = pieces.find(({ end }) => end !== '')?.end ?? usualEnd;
  const parts: string[] = [];
  for (const [index, { text, end }] of all.entries()) {
    if (end !== '') last = end;
    parts.push(index === all.length - 1 ? text : text + last);
  }
  return parts.join('');
}

/** As split by line ends: one more than there are ends, the last one without. */
function piecesOf(text: string): Line[] {
  const parts = text.split(/(\r?\n)/);
  const pieces: Line[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const end = parts[at + 1];
    pieces.push({
      text: parts[at] ?? '',
      end: end === '\r\n' || end === '\n' ? end : '',
    });
  }
  return pieces;
}

function commonEnds(
  old: readonly string[],
  now: readonly string[],
): { readonly head: number; readonly tail: number } {
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return { head, tail };
}

/** How lines end near places of a text that are asked for from left to right; each part of the text is looked at once. */
export class LineEnds {
  private next = -1;
  private readonly last: number;

  constructor(private readonly text: string) {
    this.last = text.lastIndexOf('\n');
  }

  /** Of the line that holds the position, or else of the last one that has an end. */
  near(position: number): '\n' | '\r\n' {
    if (position > this.last) return this.endAt(this.last);
    if (this.next < position) this.next = this.text.indexOf('\n', position);
    return this.endAt(this.next);
  }

  private endAt(at: number): '\n' | '\r\n' {
    return at > 0 && this.text[at - 1] === '\r' ? '\r\n' : '\n';
  }
}
