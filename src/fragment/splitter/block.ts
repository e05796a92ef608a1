import { isBlank } from './character.js';

/** Kind of a source, which determines the rules of splitting. */
export type SourceKind = 'text' | 'markdown' | 'code' | 'json' | 'table' | 'document';

/**
 * The text of a file as its parser found it, with the structure that the text alone does not show. Line ends are LF;
 * all positions are UTF-16 code units of `text`, ends are exclusive.
 */
export interface SourceDocument {
  readonly kind: SourceKind;
  readonly text: string;
  /** Start offset of each page; absent for formats without pages. */
  readonly pageStarts?: readonly number[];
  /**
   * Blocks in the order of the text, without overlaps. Absent for text, Markdown, code and JSON, whose structure the
   * splitter reads from the text itself.
   */
  readonly blocks?: readonly SourceBlock[];
  /** Name of the programming language, for code: `typescript`, `python`, ... */
  readonly language?: string;
}

export type SourceBlock =
  | {
      readonly type: 'heading';
      readonly start: number;
      readonly end: number;
      readonly level: number;
    }
  | { readonly type: 'paragraph'; readonly start: number; readonly end: number }
  /**
   * Holds for the rows after it, until the next header, another kind of block, or a row whose number does not exceed the
   * one before: that is of another table.
   */
  | TableBlock<'table-header'>
  | TableBlock<'table-row'>;

export interface TableBlock<Type extends string> {
  readonly type: Type;
  readonly start: number;
  readonly end: number;
  /** Name of the sheet; absent where there is only one table without a name. */
  readonly sheet?: string;
  /** Row number from 1, as in the spreadsheet; for CSV, the row of the file. */
  readonly row: number;
  /** Number of its last column, from 1. */
  readonly columns: number;
}

/** Split settings of a knowledge base. */
export interface SplitSettings {
  /** Maximum length of a fragment in UTF-16 code units; above 0. */
  readonly textBlockSize: number;
  /** Characters that a fragment repeats of the one before it. At least 0, below textBlockSize. */
  readonly overlapChar: number;
  /** A literal text to split at first; empty for none. The two characters \n mean a line feed. */
  readonly separator: string;
}

/** Fragment without an id. */
export interface FragmentDraft {
  /** Text, never empty. A table's fragment begins with its repeated header, which is outside start and end. */
  readonly content: string;
  readonly start: number;
  readonly end: number;
  /** Page of its start, from 1. */
  readonly page?: number;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** "lines 10-42" or "line 7" for text, Markdown, code and JSON; "Sheet1!A2:F20" or "rows 2-20" for rows alone. */
  readonly location?: string;
}

/** A range of the document's text, in UTF-16 code units; the end is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Kind of a range of text for splitting: `prose` is cut between sentences, `lines` (code) between lines, a `value`
 * (JSON) between its parts. A `row` is not cut, and a `header` is repeated above the rows that follow.
 */
type BlockType = 'heading' | 'prose' | 'lines' | 'value' | 'header' | 'row';

/** Blocks lie in the order of the text, do not overlap, and hold every character that is not blank. */
export interface Block extends Span {
  readonly type: BlockType;
  /** Level of a heading, from 1 (outermost). */
  readonly level?: number;
  /** Text of a heading, without marks. */
  readonly title?: string;
  /** Header that is repeated above a row. */
  readonly header?: Span;
  /** Cells of a row or header, if the file has cells. */
  readonly cells?: Cells;
  /** Places where a value may be cut. */
  readonly joints?: Joints;
  /** Whether it follows a visible separator, so that no earlier block shares its fragment. */
  readonly separated?: boolean;
}

export interface Cells {
  readonly sheet?: string;
  readonly row: number;
  readonly columns: number;
}

/** The places between the parts of nested values, ascending, each with the number of values it is within. */
export interface Joints {
  readonly positions: readonly number[];
  readonly depths: readonly number[];
}

/** The block without the blanks at its end, and without blank lines before it; nothing when that leaves nothing. */
export function trimmed<B extends Block>(text: string, block: B): B | undefined {
  const end = endOfText(text, block.start, block.end);
  if (end === block.start) return undefined;
  const start = startOfText(text, block.start, end);
  return start === block.start && end === block.end ? block : { ...block, start, end };
}

/** End of the text of a range, behind its last non-blank character; its start if all are blank. */
export function endOfText(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isBlank(text.charCodeAt(last - 1))) last -= 1;
  return last;
}

/**
 * Start of the text of a range that is not all blank, including the indentation of its first line if the range contains
 * the beginning of that line.
 */
export function startOfText(text: string, start: number, end: number): number {
  let first = start;
  let line = start === 0 || text[start - 1] === '\n' ? start : -1;
  while (first < end && isBlank(text.charCodeAt(first))) {
    first += 1;
    if (text[first - 1] === '\n') line = first;
  }
  return line === -1 ? first : line;
}

/**
 * The blocks that the parser found. Text that it left out between them is prose; blocks that are empty, out of order
 * or lie in one another lose what lies before the end of the one above.
 */
export function blocksFrom(text: string, sourceBlocks: readonly SourceBlock[]): Block[] {
  const reader = new GivenReader(text);
  for (const block of sourceBlocks) reader.take(block);
  return reader.end();
}

class GivenReader {
  private readonly blocks: Block[] = [];
  private position = 0;
  /** The table that is being read: what is repeated above its rows. */
  private header: Span | undefined;
  private sheet: string | undefined;
  private row = 0;
  /** Header rows that follow each other are one header. */
  private inHeader = false;

  constructor(private readonly text: string) {}

  take(block: SourceBlock): void {
    const start = Math.max(block.start, this.position);
    const end = Math.min(block.end, this.text.length);
    if (end <= start) return;
    this.passTo(start);
    this.blocks.push(this.blockOf(block, { start, end }));
    this.position = end;
  }

  end(): Block[] {
    this.passTo(this.text.length);
    return this.blocks;
  }

  private passTo(start: number): void {
    if (endOfText(this.text, this.position, start) === this.position) return;
    this.blocks.push({ type: 'prose', start: this.position, end: start });
    this.header = undefined;
  }

  private blockOf(block: SourceBlock, span: Span): Block {
    if (block.type === 'table-header' || block.type === 'table-row') return this.cells(block, span);
    this.header = undefined;
    if (block.type === 'paragraph') return { type: 'prose', ...span };
    const title = this.text.slice(span.start, span.end);
    return { type: 'heading', ...span, level: block.level, title };
  }

  private cells(block: TableBlock<'table-header' | 'table-row'>, span: Span): Block {
    const { sheet, row, columns } = block;
    const cells = { ...(sheet === undefined ? {} : { sheet }), row, columns };
    // Rows count from the start of their table.
    if (sheet !== this.sheet || row <= this.row) this.header = undefined;
    this.sheet = sheet;
    this.row = row;
    const { header } = this;
    const goesOn = this.inHeader && header !== undefined;
    this.inHeader = block.type === 'table-header';
    if (block.type === 'table-row') {
      return { type: 'row', ...span, cells, ...(header ? { header } : {}) };
    }
    this.header = { start: goesOn ? header.start : span.start, end: span.end };
    return { type: 'header', ...span, cells };
  }
}
