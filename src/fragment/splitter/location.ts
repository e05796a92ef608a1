import type { Block, Cells } from './block.js';

/** Counts the lines of a text up to places that only go forward. */
export class LineCounter {
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
export function linesLocation(first: number, last: number): string {
  return first === last ? `line ${first}` : `lines ${first}-${last}`;
}

/**
 * Where the rows of a fragment are: "Sheet1!A2:F20", or "rows 2-20" in a table without a sheet. A header counts only
 * where there is nothing else; with text beside the rows there is no such place.
 */
export function cellsLocation(blocks: readonly Block[]): string | undefined {
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
