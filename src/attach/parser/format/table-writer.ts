import type { SourceBlock } from '../../../fragment/splitter/index.js';

interface TableRow {
  readonly cells: readonly string[];
  /** Row number from 1, as in the file. */
  readonly row: number;
}

/** Pieces that are joined at a time: one long text takes less memory than many short ones. */
const JOINED_PIECES = 8_192;

/** Writes the text of a document block by block and keeps where each one lies. */
export class BlockWriter {
  private joinedText = '';
  private pieces: string[] = [];
  private readonly blocks: SourceBlock[] = [];
  private length = 0;

  /** Offset of the next character. */
  get position(): number {
    return this.length;
  }

  heading(text: string, level: number): void {
    if (text.trim() === '') return;
    const start = this.begin('\n\n');
    this.blocks.push({ type: 'heading', start, end: this.append(text), level });
  }

  paragraph(text: string): void {
    if (text.trim() === '') return;
    const start = this.begin('\n\n');
    this.blocks.push({ type: 'paragraph', start, end: this.append(text) });
  }

  /** A row is one line: its cells joined by a bar, without the empty ones at its end. */
  row(type: 'table-header' | 'table-row', { cells, row }: TableRow, sheet?: string): void {
    const columns = cells.findLastIndex((cell) => cell !== '') + 1;
    if (columns === 0) return;
    const last = this.blocks.at(-1);
    const goesOn = last && 'row' in last && last.sheet === sheet && last.row < row;
    const start = this.begin(goesOn ? '\n' : '\n\n');
    const end = this.append(cells.slice(0, columns).join(' | '));
    // The fields are listed one by one, because a large table has a million of them.
    this.blocks.push(
      sheet === undefined
        ? { type, start, end, row, columns }
        : { type, start, end, row, columns, sheet },
    );
  }

  /** Ends what was written before, so that the position is where the next block begins. */
  separate(): void {
    this.begin('\n\n');
  }

  end(): { readonly text: string; readonly blocks: readonly SourceBlock[] } {
    this.join();
    return { text: this.joinedText, blocks: this.blocks };
  }

  /** Starts the next block and returns its offset. */
  private begin(gap: '\n' | '\n\n'): number {
    if (this.length > 0 && this.pieces.at(-1) !== '\n\n') this.append(gap);
    return this.length;
  }

  /** Appends text and returns its end offset. */
  private append(text: string): number {
    this.pieces.push(text);
    this.length += text.length;
    // A trailing gap stays a separate piece: the next block detects it.
    if (this.pieces.length >= JOINED_PIECES && text !== '\n\n') this.join();
    return this.length;
  }

  private join(): void {
    this.joinedText += this.pieces.join('');
    this.pieces = [];
  }
}

/** Rows among which the header is looked for. */
const HEAD_ROWS = 20;

const NUMBER = /^[-+(]?[\d.,'\u00a0 ]+[%)]?$/;

/**
 * Writes one table and finds its header: the first row at least half as wide as the widest of the first ones, since
 * titles above a table are narrow. A row of numbers is no header.
 */
export class TableWriter {
  private head: TableRow[] | undefined = [];

  constructor(
    private readonly writer: BlockWriter,
    private readonly sheet?: string,
    /** The name of the sheet is a heading of its rows. */
    private readonly isNamed = false,
  ) {}

  add(row: number, cells: readonly string[]): void {
    const line = { row, cells: cells.map(oneLine) };
    if (filled(line) === 0) return;
    if (!this.head) {
      this.writer.row('table-row', line, this.sheet);
      return;
    }
    this.head.push(line);
    if (this.head.length === HEAD_ROWS) this.writeHead();
  }

  end(): void {
    this.writeHead();
  }

  private writeHead(): void {
    const rows = this.head ?? [];
    if (this.isNamed && rows.length > 0) this.writer.heading(this.sheet ?? '', 1);
    const header = headerOf(rows);
    for (const line of rows) {
      this.writer.row(line === header ? 'table-header' : 'table-row', line, this.sheet);
    }
    this.head = undefined;
  }
}

function headerOf(rows: readonly TableRow[]): TableRow | undefined {
  if (rows.length < 2) return undefined;
  const widest = Math.max(...rows.map(filled));
  const first = rows.find((line) => filled(line) >= widest / 2);
  return first?.cells.every((cell) => cell === '' || NUMBER.test(cell)) ? undefined : first;
}

function filled({ cells }: TableRow): number {
  return cells.filter((cell) => cell !== '').length;
}

function oneLine(cell: string): string {
  return cell.replace(/\s+/g, ' ').trim();
}
