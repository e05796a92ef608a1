import type { Block, FragmentDraft, SourceDocument, Cells } from './block.js';
import type { Piece } from './packing.js';
import { commonPath } from './section.js';
import type { Section } from './section.js';

/** The blocks of a document and, for each, the section it is in. */
interface Structure {
  readonly blocks: readonly Block[];
  readonly sectionOf: readonly Section[];
}

/** What is known of each piece beside its text. Pieces come in the order of the text. */
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
    const own = blocks.slice(piece.blocks.first, piece.blocks.end);
    const sections = sectionOf.slice(piece.blocks.first, piece.blocks.end);
    return {
      content: above + text.slice(start, end),
      start,
      end,
      headings: headingsOf(own, sections),
      ...placeOf(piece, own),
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
 * Where the rows of a fragment are: "Sheet1!A2:F20", or "rows 2-20" in a table without a sheet. A header counts only
 * where there is nothing else; with text beside the rows there is no such place.
 */
function cellsLocation(blocks: readonly Block[]): string | undefined {
  const cells: Cells[] = [];
  let rows = 0;
  for (const { type, cells: found } of blocks) {
    if (type === 'heading') continue;
    if (!found) return undefined;
    if (type === 'row') rows += 1;
    cells.push(found);
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

/** As spreadsheets write it: in quotes unless it is a plain word. */
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
