import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { TableWriter } from './table-writer.js';
import type { BlockWriter } from './table-writer.js';

/** Columns of a table at most; more is a mistake in its spans. */
const COLUMN_LIMIT = 1_000;

/** Maximum nesting depth of tables and frames. */
const NESTING_LIMIT = 100;

/** A part of a document that was read before its place is known. */
export type Piece =
  | { readonly type: 'heading'; readonly text: string; readonly level: number }
  | { readonly type: 'paragraph'; readonly text: string }
  | { readonly type: 'table'; readonly rows: readonly Row[] };

interface CellSpan {
  readonly columns?: number;
  readonly rows?: number;
  /** Whether the cell continues the one above it and repeats its text. */
  readonly continued?: boolean;
}

interface Cell extends CellSpan {
  readonly pieces: readonly Piece[];
}

/** Row of a table; it has no cells of its own if merged cells from above cover it. */
interface Row {
  readonly cells: Cell[];
  /** Merged cells of the rows above end before it. */
  readonly beginsGroup: boolean;
}

interface OpenTable {
  /** Rows that are not written yet: all of them until it shows that this is a table for a reader, too. */
  rows: Row[];
  row: Row | undefined;
  /** Whether the next row is the first one of a group. */
  beginsGroup: boolean;
  cell: { readonly span: CellSpan; readonly pieces: Piece[] } | undefined;
  /** Rows that have cells. */
  count: number;
  wide: boolean;
  /** Destination of a table that is written row by row. */
  target: RowWriter | undefined;
}

/** Destination of the pieces: the cell of an open table, or a capture. */
type Frame =
  | { readonly kind: 'table'; readonly table: OpenTable }
  | { readonly kind: 'capture'; readonly pieces: Piece[] };

/**
 * Writes what a reader meets from the start to the end of a document: headings, paragraphs and tables, which may lie
 * within each other. A table with one row, or with one cell in each row, is a frame around text and no table for a
 * reader: its cells are written one after the other. A large table is written while it is read.
 */
export class StructureWriter {
  private readonly frames: Frame[] = [];

  constructor(private readonly writer: BlockWriter) {}

  heading(text: string, level: number): void {
    this.put([{ type: 'heading', text: text.replace(/\s+/g, ' ').trim(), level }]);
  }

  paragraph(text: string): void {
    this.put([{ type: 'paragraph', text }]);
  }

  put(pieces: readonly Piece[]): void {
    const inner = this.receiver(this.frames.length);
    for (const piece of pieces) {
      if (piece.type !== 'table' && piece.text.trim() === '') continue;
      if (inner) inner.push(piece);
      else this.write(piece);
    }
  }

  /** Collects what follows until the release. */
  capture(): void {
    this.frames.push({ kind: 'capture', pieces: [] });
  }

  /** Returns the pieces collected since the last capture; tables that are still open end here. */
  release(): readonly Piece[] {
    while (this.frames.at(-1)?.kind === 'table') this.endTable();
    const frame = this.frames.pop();
    return frame?.kind === 'capture' ? frame.pieces : [];
  }

  beginTable(): void {
    const table: OpenTable = {
      rows: [],
      row: undefined,
      beginsGroup: false,
      cell: undefined,
      count: 0,
      wide: false,
      target: undefined,
    };
    this.frames.push({ kind: 'table', table });
  }

  beginRow(): void {
    const table = this.table();
    if (!table) return;
    this.endRow();
    openRow(table);
  }

  beginCell(span: CellSpan = {}): void {
    const table = this.table();
    if (!table) return;
    this.endCell();
    openRow(table);
    table.cell = { span, pieces: [] };
  }

  endCell(): void {
    const table = this.table();
    if (!table?.cell) return;
    const { span, pieces } = table.cell;
    table.row?.cells.push({ ...span, pieces });
    table.cell = undefined;
  }

  endRow(): void {
    const table = this.table();
    if (!table?.row) return;
    this.endCell();
    const { row } = table;
    table.row = undefined;
    table.rows.push(row);
    if (row.cells.length > 0) table.count += 1;
    table.wide ||= row.cells.length > 1;
    if (this.frames.length === 1 && isForReaders(table)) this.flush(table);
  }

  /** Ends a group of rows, which no merged cell reaches beyond. */
  endRowGroup(): void {
    const table = this.table();
    if (!table) return;
    this.endRow();
    table.beginsGroup = true;
  }

  endTable(): void {
    const table = this.table();
    if (!table) return;
    this.endRow();
    this.frames.pop();
    if (table.target) table.target.end();
    else if (isForReaders(table)) this.put([{ type: 'table', rows: table.rows }]);
    else for (const { cells } of table.rows) for (const { pieces } of cells) this.put(pieces);
  }

  /** Ends what is still open. */
  end(): void {
    while (this.frames.length > 0) {
      if (this.table()) this.endTable();
      else this.put(this.release());
    }
  }

  private table(): OpenTable | undefined {
    const frame = this.frames.at(-1);
    return frame?.kind === 'table' ? frame.table : undefined;
  }

  /** Content of a table outside its cells goes before the table. */
  private receiver(depth: number): Piece[] | undefined {
    for (let index = depth - 1; index >= 0; index -= 1) {
      const frame = this.frames[index];
      if (frame?.kind === 'capture') return frame.pieces;
      if (frame?.table.cell) return frame.table.cell.pieces;
    }
    return undefined;
  }

  private flush(table: OpenTable): void {
    table.target ??= new RowWriter(this.writer);
    for (const row of table.rows) table.target.add(row);
    table.rows = [];
  }

  private write(piece: Piece): void {
    if (piece.type === 'heading') this.writer.heading(piece.text, piece.level);
    else if (piece.type === 'paragraph') this.writer.paragraph(piece.text);
    else {
      const table = new RowWriter(this.writer);
      for (const row of piece.rows) table.add(row);
      table.end();
    }
  }
}

function openRow(table: OpenTable): void {
  if (table.row) return;
  table.row = { cells: [], beginsGroup: table.beginsGroup };
  table.beginsGroup = false;
}

function isForReaders({ count, wide }: OpenTable): boolean {
  return count > 1 && wide;
}

/** Writes the rows of one table that have cells of their own. */
class RowWriter {
  private readonly table: TableWriter;
  private readonly spans = new Spans();
  private rowCount = 0;

  constructor(writer: BlockWriter) {
    this.table = new TableWriter(writer);
  }

  add(row: Row): void {
    const cells = this.spans.cellsOf(row);
    if (row.cells.length === 0) return;
    this.rowCount += 1;
    this.table.add(this.rowCount, cells);
  }

  end(): void {
    this.table.end();
  }
}

/** A merged cell takes the place of all its cells: its text in the first of each row, so that every row can be read alone. */
class Spans {
  constructor(
    /** Nesting depth of the table. */
    private readonly depth = 0,
  ) {}

  private readonly open = new Map<number, { readonly text: string; rows: number }>();
  private above: readonly string[] = [];

  cellsOf(row: Row): readonly string[] {
    if (row.beginsGroup) this.open.clear();
    const cells: string[] = [];
    for (const cell of row.cells) {
      this.fill(cells);
      const { continued = false } = cell;
      const rows = Math.trunc(cell.rows ?? 1);
      const columns = Math.trunc(cell.columns ?? 1);
      const text = continued ? (this.above[cells.length] ?? '') : textOf(cell.pieces, this.depth);
      const width = Math.max(1, Math.min(columns, COLUMN_LIMIT - cells.length));
      for (let column = 0; column < width; column += 1) {
        const cellText = column === 0 ? text : '';
        if (rows > 1) this.open.set(cells.length, { text: cellText, rows: rows - 1 });
        cells.push(cellText);
      }
    }
    this.fill(cells);
    // Merged cells behind the last cell of the row are those of columns that it leaves empty.
    const last = Math.max(...this.open.keys());
    while (cells.length <= last) {
      cells.push('');
      this.fill(cells);
    }
    this.above = cells;
    return cells;
  }

  private fill(cells: string[]): void {
    for (let span = this.open.get(cells.length); span; span = this.open.get(cells.length)) {
      span.rows -= 1;
      if (span.rows === 0) this.open.delete(cells.length);
      cells.push(span.text);
    }
  }
}

/** Separates the rows of a table in a cell, and the text beside it, with semicolons. */
function textOf(pieces: readonly Piece[], depth: number): string {
  if (depth > NESTING_LIMIT) return '';
  let result = '';
  let afterTable = false;
  for (const piece of pieces) {
    const isTable = piece.type === 'table';
    const text = (isTable ? rowsIn(piece.rows, depth + 1) : piece.text).trim();
    if (text === '') continue;
    if (result !== '') result += isTable || afterTable ? '; ' : ' ';
    result += text;
    afterTable = isTable;
  }
  return result;
}

function rowsIn(rows: readonly Row[], depth: number): string {
  const spans = new Spans(depth);
  return rows
    .map((row) => ({ row, cells: spans.cellsOf(row) }))
    .filter(({ row }) => row.cells.length > 0)
    .map(({ cells }) => cells.filter((cell) => cell !== '').join(' '))
    .filter((line) => line !== '')
    .join('; ');
}

/** The pieces of an embedded document, for the document that contains it. */
export function piecesOf({ text, blocks = [] }: SourceDocument): readonly Piece[] {
  const pieces: Piece[] = [];
  let rows: Row[] | undefined;
  for (const block of blocks) {
    const content = text.slice(block.start, block.end);
    if (block.type === 'table-header' || block.type === 'table-row') {
      if (!rows) pieces.push({ type: 'table', rows: (rows = []) });
      const cells = content.split(' | ').map((cell) => ({
        pieces: [{ type: 'paragraph' as const, text: cell }],
      }));
      rows.push({ cells, beginsGroup: false });
      continue;
    }
    rows = undefined;
    pieces.push(
      block.type === 'heading'
        ? { type: 'heading', text: content, level: block.level }
        : { type: 'paragraph', text: content },
    );
  }
  if (blocks.length > 0) return pieces;
  return text.split(/\n[ \t]*\n/).map((paragraph) => ({ type: 'paragraph', text: paragraph }));
}
