import type { BlockWriter, TableRow } from './block-writer.js';

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
