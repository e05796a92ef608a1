import { endOfText } from './block.js';
import type { Block } from './block.js';
import { isBlank } from './character.js';

/** Marks the first block of each sheet, with the headings above it: one fragment never holds rows of two sheets. */
export function separateSheets(blocks: readonly Block[]): Block[] {
  const separated = [...blocks];
  let last: Block | undefined;
  for (const [index, block] of blocks.entries()) {
    if (!block.cells) continue;
    if (last && last.cells?.sheet !== block.cells.sheet) {
      let first = index;
      while (separated[first - 1]?.type === 'heading') first -= 1;
      const found = separated[first];
      if (found) separated[first] = { ...found, separated: true };
    }
    last = block;
  }
  return separated;
}

/**
 * Divides the blocks at each occurrence of a visible separator, except within the rows of tables. An occurrence that
 * begins a line with more text in it (such as "Q: ") begins a piece, any other one ends the piece before it.
 */
export function separate(text: string, blocks: readonly Block[], separator: string): Block[] {
  const divided: Block[] = [];
  let cut = nextCut(text, separator, 0);
  for (const block of blocks) {
    let rest: Block = block;
    while (cut !== undefined && cut.at <= rest.start) {
      if (rest.type !== 'row') rest = { ...rest, separated: true };
      cut = nextCut(text, separator, cut.behind);
    }
    while (cut !== undefined && cut.at < rest.end) {
      if (isDivisible(rest)) {
        divided.push({ ...rest, end: endOfText(text, rest.start, cut.at) });
        rest = { ...rest, start: cut.at, separated: true };
      }
      cut = nextCut(text, separator, cut.behind);
    }
    divided.push(rest);
  }
  return divided;
}

function isDivisible(block: Block): boolean {
  return block.type !== 'row' && block.type !== 'header';
}

interface SeparatorCut {
  readonly at: number;
  /** Where to look for the next one. */
  readonly behind: number;
}

function nextCut(text: string, separator: string, from: number): SeparatorCut | undefined {
  const start = text.indexOf(separator, from);
  if (start === -1) return undefined;
  const behind = start + separator.length;
  let visible = start;
  while (isBlank(text.charCodeAt(visible))) visible += 1;
  const beginsLine = visible === 0 || text[visible - 1] === '\n';
  return { at: beginsLine && goesOnInLine(text, behind) ? visible : behind, behind };
}

function goesOnInLine(text: string, from: number): boolean {
  if (text[from - 1] === '\n') return false;
  let at = from;
  while (text[at] !== '\n' && isBlank(text.charCodeAt(at))) at += 1;
  return at < text.length && text[at] !== '\n';
}
