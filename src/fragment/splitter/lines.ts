import { isBlank } from './character.js';
import { afterBlanks, proseCut } from './prose.js';
import type { Room } from './prose.js';

/** A line that starts with one of these belongs to what is above it. */
const CONTINUATION =
  /^(?:[})\]{;,]|\*\/|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|fi|done|esac)\b)/;

/** Whether the text at the start of a line only ends or continues what is above it. */
export function continuesAbove(text: string, at: number): boolean {
  return CONTINUATION.test(text.slice(at, at + 8));
}

/** Indentation beyond this makes a place no worse. */
const DEEPEST = 60;
/** What a missing blank line, and a line that continues the one above it, cost in columns of indentation. */
const UNBROKEN = 100;
const CONTINUED = 200;

/**
 * Where lines of code that go on beyond the room are cut: before the line behind `early` that is indented least of
 * those after a blank line, else least of all; of equals before the last. A line that is longer than the room is cut
 * as prose.
 */
export function linesCut(text: string, room: Room): number {
  const early = Math.max(room.early, room.from);
  let lowest = Infinity;
  let cut = early;
  for (let at = afterBlanks(text, room.limit); at > early; at -= 1) {
    if (text[at - 1] !== '\n') continue;
    const cost = costOf(text, at);
    if (cost >= lowest) continue;
    lowest = cost;
    cut = at;
  }
  return cut > early ? cut : proseCut(text, room, '');
}

function costOf(text: string, at: number): number {
  let first = at;
  while (text[first] === ' ' || text[first] === '\t') first += 1;
  if (first >= text.length || text[first] === '\n') return Infinity;
  const indent = Math.min(first - at, DEEPEST);
  const continued = continuesAbove(text, first) ? CONTINUED : 0;
  return indent + continued + (followsBlankLine(text, at) ? 0 : UNBROKEN);
}

/** Whether the line above the one that starts at `at` is blank; there is none above the first. */
function followsBlankLine(text: string, at: number): boolean {
  let above = at - 2;
  while (above >= 0 && text[above] !== '\n' && isBlank(text.charCodeAt(above))) above -= 1;
  return at < 2 || text[above] === '\n' || above < 0;
}
