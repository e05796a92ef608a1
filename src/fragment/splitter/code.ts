import type { Block } from './block.js';
import { isBlank } from './character.js';
import { afterBlanks, proseCut } from './prose.js';
import type { Room } from './prose.js';

/**
 * The top-level parts of a program text: imports, functions, classes, each with the comments and decorators right
 * above it. Found by layout alone, which serves languages of braces, of indentation and of `end` alike: a part begins
 * at a line without indentation that follows a blank line, an indented line or a closing one. A text without such a
 * layout is divided at its blank lines, or not at all.
 */
export function codeBlocks(text: string): Block[] {
  const starts = [0];
  let aboveEnds = false;
  for (let at = 0; at < text.length;) {
    const feed = text.indexOf('\n', at);
    const end = feed === -1 ? text.length : feed;
    if (isLineBlank(text, at, end)) {
      aboveEnds = true;
    } else {
      const outermost = !isBlank(text.charCodeAt(at));
      const continued = outermost && continuesAbove(text, at);
      if (at > 0 && aboveEnds && outermost && !continued) starts.push(at);
      aboveEnds = !outermost || continued;
    }
    at = end + 1;
  }
  return starts.map((start, index) => ({
    type: 'lines',
    start,
    end: starts[index + 1] ?? text.length,
  }));
}

function isLineBlank(text: string, start: number, end: number): boolean {
  let at = start;
  while (at < end && isBlank(text.charCodeAt(at))) at += 1;
  return at === end;
}

/** A line that starts with one of these belongs to what is above it. */
const CONTINUATION =
  /^(?:[})\]{;,]|\*\/|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|fi|done|esac)\b)/;

/** Whether the text at the start of a line only ends or continues what is above it. */
function continuesAbove(text: string, at: number): boolean {
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
