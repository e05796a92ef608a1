import type { Span } from './block.js';
import { characterStart, isBlank, isUnspaced } from './character.js';
import { beginningAt, Beginning } from './prose.js';

export interface OverlapRequest {
  /** Where the fragment's own text starts. */
  readonly at: number;
  readonly longest: number;
  /** Blanks between the two, which are repeated as well, and what is repeated take no more than this. */
  readonly room: number;
  /** The fragment before it. */
  readonly above: Span;
  /** Not before this place. */
  readonly floor: number;
  /** Of the text that is repeated: code is repeated in whole lines where one is short enough. */
  readonly lines: boolean;
}

/**
 * Where a fragment starts that repeats the end of the one before it: at most `longest` characters and at most half of
 * that one, from the beginning of a sentence in the first half of them, else from that of a word. Nothing of a word
 * that is longer, unless the cut is within it or its script has no blanks.
 */
export function overlapStart(text: string, request: OverlapRequest): number {
  const { at, above, floor, lines } = request;
  const half = above.end - Math.floor((above.end - above.start) / 2);
  const earliest = Math.max(above.end - request.longest, at - request.room, floor, half);
  if (earliest >= above.end) return at;
  const line = lines ? nextLine(text, earliest, above.end) : undefined;
  return line ?? nearestBeginning(text, earliest, at);
}

function nextLine(text: string, earliest: number, end: number): number | undefined {
  for (let at = earliest; at < end; at += 1) if (text[at - 1] === '\n') return at;
  return undefined;
}

function nearestBeginning(text: string, earliest: number, end: number): number {
  const middle = earliest + Math.floor((end - earliest) / 2);
  let word = end;
  for (let at = earliest; at < end && (at <= middle || word === end); at += 1) {
    const found = beginningAt(text, at, '');
    if (found >= Beginning.sentence && at <= middle) return at;
    if (found > Beginning.none && word === end) word = at;
  }
  if (word < end) return word;
  const isCutWord = !isBlank(text.charCodeAt(end - 1)) || isUnspaced(text.charCodeAt(earliest));
  return isCutWord ? Math.min(characterStart(text, earliest), end) : end;
}
