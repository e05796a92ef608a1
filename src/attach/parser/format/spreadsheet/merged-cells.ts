/** Cells that are merged, by the rows and columns from the first to the last one, counted from 1 and from 0. */
export interface MergedRange {
  readonly firstRow: number;
  readonly lastRow: number;
  readonly column: number;
}

/** Ranges that are kept of a sheet at most; Excel becomes unusable long before. */
export const MAX_MERGED_RANGES = 100_000;

/** A range whose first row is known. */
export interface OpenRange {
  readonly lastRow: number;
  readonly column: number;
  readonly text: string;
}

/**
 * Gives the text of merged cells to each of their rows, so that every row can be read alone. Rows are given in their
 * order; one that has no cell of its own stays empty.
 */
export class MergedCells {
  /** Sorted by the first row, from its end. */
  private readonly waiting: MergedRange[];
  private open: OpenRange[] = [];

  constructor(ranges: readonly MergedRange[]) {
    this.waiting = ranges
      .filter(({ firstRow, lastRow }) => lastRow > firstRow)
      .sort((a, b) => b.firstRow - a.firstRow);
  }

  /** A range that begins in the row that was filled last. */
  begin(range: OpenRange): void {
    this.open.push(range);
  }

  /** Adds the texts to the cells of a row. */
  fill(row: number, cells: string[]): void {
    if (this.waiting.length === 0 && this.open.length === 0) return;
    this.open = this.open.filter(({ lastRow }) => lastRow >= row);
    if (cells.some((cell) => cell !== '')) {
      for (const { column, text } of this.open) {
        while (cells.length <= column) cells.push('');
        if (cells[column] === '') cells[column] = text;
      }
    }
    for (let next = this.waiting.at(-1); next && next.firstRow <= row; next = this.waiting.at(-1)) {
      this.waiting.pop();
      const text = next.firstRow === row ? (cells[next.column] ?? '') : '';
      if (text !== '' && next.lastRow > row) this.open.push({ ...next, text });
    }
  }
}

/** A reference such as A2:A41; undefined for what is none. */
export function mergedRangeOf(reference: string): MergedRange | undefined {
  const [, letters = '', first = '', last = ''] =
    /^\$?([A-Za-z]{1,3})\$?(\d{1,7}):\$?[A-Za-z]{1,3}\$?(\d{1,7})$/.exec(reference) ?? [];
  if (letters === '') return undefined;
  return { firstRow: Number(first), lastRow: Number(last), column: columnOf(letters) };
}

/** Excel has no more; a reference beyond is a mistake. */
export const MAX_COLUMNS = 16_384;

/** Column from 0; "B7" is 1. 0 without a valid reference. */
export function columnOf(reference: string | undefined): number {
  let column = 0;
  for (const letter of /^\$?([A-Za-z]{1,3})/.exec(reference ?? '')?.[1]?.toUpperCase() ?? '') {
    column = column * 26 + letter.charCodeAt(0) - 64;
  }
  return column > 0 && column <= MAX_COLUMNS ? column - 1 : 0;
}
