import { trimmed, endOfText } from './block.js';
import type { Block, FragmentDraft, SourceDocument, SplitSettings } from './block.js';
import { codeBlocks } from './code.js';
import { draftsOf } from './draft.js';
import { givenBlocks } from './given.js';
import { groupBlocks, readSections } from './section.js';
import { markdownBlocks } from './markdown.js';
import { pack } from './packing.js';
import { valueBlocks } from './value.js';
import { isBlank } from './character.js';

/**
 * Splits a document into fragments, in its order. What holds for all of them:
 *
 * - `content` is never empty and never longer than textBlockSize. (At a size of 1, a surrogate pair is kept whole.)
 * - `content` is `text.slice(start, end)`, below the repeated header of a table where there is one. It neither begins
 *   nor ends with blank lines and keeps the indentation of its first line.
 * - All of the text that is not blank is in some fragment; starts and ends only grow.
 * - A visible separator always divides: it begins a piece where text follows it in its line, and ends one elsewhere.
 *   A separator of blanks, such as \n, is where prose that is too long for a fragment is cut first. Rows are never
 *   divided by separators.
 * - Blocks (see BlockType) are packed together and cut only where they do not fit; see groupBlocks for what may share
 *   a fragment. A heading does not end a fragment when text follows it in its group.
 * - A fragment repeats overlapChar characters of the one before it, less the part of a word (or of a short sentence)
 *   that they would begin with, and never all of that one, when it goes on with the same prose or with the same
 *   function, of which whole lines are repeated: not across headings, rows, JSON values, functions, sheets and visible
 *   separators.
 * - A row is cut, as prose, only if it does not fit alone. One that does not fit together with its header is alone in
 *   its fragments, without the header.
 *
 * The time it takes grows with the length of the text and with the number of fragments, whatever the text is.
 */
export function split(document: SourceDocument, settings: SplitSettings): FragmentDraft[] {
  const { text } = document;
  const separator = settings.separator.replaceAll('\\n', '\n');
  const isSoft = separator.trim() === '';
  const found = separateSheets(trimAll(text, readBlocks(document)));
  const blocks = isSoft ? found : trimAll(text, separate(text, found, separator));
  const { root, sectionOf } = readSections(blocks);
  const rules = {
    size: settings.textBlockSize,
    overlap: settings.overlapChar,
    softSeparator: isSoft ? separator : '',
  };
  const pieces = groupBlocks(blocks, root, rules.size).flatMap((group) =>
    pack(text, blocks, group, rules),
  );
  return draftsOf(document, { blocks, sectionOf }, pieces);
}

function readBlocks(document: SourceDocument): Block[] {
  const { text, blocks } = document;
  if (blocks) return givenBlocks(text, blocks);
  if (document.kind === 'markdown') return markdownBlocks(text);
  if (document.kind === 'code') return codeBlocks(text);
  if (document.kind === 'json') return valueBlocks(text);
  return [{ type: 'prose', start: 0, end: text.length }];
}

function trimAll(text: string, blocks: readonly Block[]): Block[] {
  return blocks.flatMap((block) => trimmed(text, block) ?? []);
}

/** Marks the first block of each sheet, with the headings above it: one fragment never holds rows of two sheets. */
function separateSheets(blocks: readonly Block[]): Block[] {
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
function separate(text: string, blocks: readonly Block[], separator: string): Block[] {
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
