import type { Block } from './block.js';
import { isBlank } from './character.js';
import { continuesAbove } from './lines.js';

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
