import { trimmed, endOfText, blocksFrom } from './block.js';
import type { Block, FragmentDraft, SourceDocument, SplitSettings, Cells } from './block.js';
import { codeBlocks } from './prose.js';
import { groupBlocks, readSections, commonPath } from './section.js';
import type { Section } from './section.js';
import { markdownBlocks } from './markdown.js';
import { pack, valueBlocks } from './packing.js';
import type { Piece } from './packing.js';
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
  const sheets = separateSheets(trimAll(text, readBlocks(document)));
  const blocks = isSoft ? sheets : trimAll(text, separate(text, sheets, separator));
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
  if (blocks) return blocksFrom(text, blocks);
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
      const firstBlock = separated[first];
      if (firstBlock) separated[first] = { ...firstBlock, separated: true };
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
  /** Offset at which the search for the next one starts. */
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

/** The blocks of a document and, for each, the section it is in. */
interface Structure {
  readonly blocks: readonly Block[];
  readonly sectionOf: readonly Section[];
}

/** Drafts of the pieces with their positions, pages and headings. Pieces are in the order of the text. */
export function draftsOf(
  document: SourceDocument,
  { blocks, sectionOf }: Structure,
  pieces: readonly Piece[],
): FragmentDraft[] {
  const { text } = document;
  const placeOf = placing(document);
  return pieces.map((piece) => {
    const { start, end, header } = piece;
    const above = header ? `${text.slice(header.start, header.end)}\n` : '';
    const pieceBlocks = blocks.slice(piece.blocks.first, piece.blocks.end);
    const sections = sectionOf.slice(piece.blocks.first, piece.blocks.end);
    return {
      content: above + text.slice(start, end),
      start,
      end,
      headings: headingsOf(pieceBlocks, sections),
      ...placeOf(piece, pieceBlocks),
    };
  });
}

/** The headings above all of its text; headings that end it, or are all it has, do not count as text. */
function headingsOf(blocks: readonly Block[], sections: readonly Section[]): string[] {
  const ofText = sections.filter((_, index) => blocks[index]?.type !== 'heading');
  return commonPath(ofText.length > 0 ? ofText : sections);
}

type Place = Pick<FragmentDraft, 'page' | 'location'>;

function placing({
  kind,
  text,
  pageStarts,
}: SourceDocument): (piece: Piece, blocks: readonly Block[]) => Place {
  const starts = new LineCounter(text);
  const ends = new LineCounter(text);
  let page = 0;
  return ({ start, end }, blocks) => {
    while (pageStarts && (pageStarts[page] ?? Infinity) <= start) page += 1;
    const location =
      kind === 'table' || kind === 'document'
        ? cellsLocation(blocks)
        : linesLocation(starts.lineAt(start), ends.lineAt(end));
    return {
      ...(pageStarts ? { page: Math.max(page, 1) } : {}),
      ...(location === undefined ? {} : { location }),
    };
  };
}

/** Counts the lines of a text up to places that only go forward. */
class LineCounter {
  private line = 1;
  private position = 0;

  constructor(private readonly text: string) {}

  /** The number of the line that holds a place, from 1. */
  lineAt(place: number): number {
    for (; this.position < place; this.position += 1) {
      if (this.text.charCodeAt(this.position) === LINE_FEED) this.line += 1;
    }
    return this.line;
  }
}

const LINE_FEED = 0x0a;

/** "line 7" or "lines 10-42". */
function linesLocation(first: number, last: number): string {
  return first === last ? `line ${first}` : `lines ${first}-${last}`;
}

/**
 * Cell range of a fragment: "Sheet1!A2:F20", or "rows 2-20" in a table without a sheet. A header counts only if the
 * fragment has no rows; there is no range if the fragment also has text.
 */
function cellsLocation(blocks: readonly Block[]): string | undefined {
  const cells: Cells[] = [];
  let rows = 0;
  for (const { type, cells: blockCells } of blocks) {
    if (type === 'heading') continue;
    if (!blockCells) return undefined;
    if (type === 'row') rows += 1;
    cells.push(blockCells);
  }
  const counted = rows > 0 ? blocks.flatMap((block) => rowCells(block)) : cells;
  const first = counted[0];
  const last = counted.at(-1);
  if (!first || !last) return undefined;
  if (first.sheet === undefined) return rowsLocation(first.row, last.row);
  const width = counted.reduce((widest, { columns }) => Math.max(widest, columns), 1);
  return `${sheetName(first.sheet)}!A${first.row}:${columnName(width)}${last.row}`;
}

function rowCells({ type, cells }: Block): Cells[] {
  return type === 'row' && cells ? [cells] : [];
}

function rowsLocation(first: number, last: number): string {
  return first === last ? `row ${first}` : `rows ${first}-${last}`;
}

/** Sheet name as spreadsheets write it: quoted unless it is a plain word. */
function sheetName(name: string): string {
  return /^[\p{L}\p{N}_.]+$/u.test(name) ? name : `'${name.replaceAll("'", "''")}'`;
}

/** 1 is A, 26 is Z, 27 is AA. */
function columnName(column: number): string {
  let name = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  }
  return name;
}
