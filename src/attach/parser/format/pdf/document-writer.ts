import type { SourceBlock } from '../../../../fragment/splitter/index.js';
import { BlockWriter, TableWriter } from '../table-writer.js';
import { storable } from '../text/text-encoding.js';
import type { RecognisedPage } from '../document-source.js';
import { writeRecognised } from '../recognised-page.js';
import { LineEndHyphens } from './line-end-hyphens.js';
import type { PageBlock } from './page-layout.js';

interface WrittenDocument {
  readonly text: string;
  readonly blocks: readonly SourceBlock[];
  readonly pageStarts: readonly number[];
}

type Rows = readonly (readonly string[])[];

interface OpenTable {
  readonly writer: TableWriter;
  readonly columns: number;
  readonly head: string;
  rows: number;
}

/**
 * Writes the pages of a document when all of them are known: words that a line end divides are joined, and a table that
 * goes on at the top of the next page is one.
 */
export class DocumentWriter {
  private readonly pages: PageBlock[][] = [];
  private readonly recognised = new Map<number, RecognisedPage>();
  private readonly hyphens = new LineEndHyphens();
  private readonly writer = new BlockWriter();
  /** Headers and footers of a table that may go on. */
  private readonly running: PageBlock[] = [];

  /** Writes a page; recognised text replaces a page without text of its own. */
  page(blocks: readonly PageBlock[], recognised?: RecognisedPage): void {
    if (recognised) this.recognised.set(this.pages.length, recognised);
    this.pages.push(
      blocks.map((block) =>
        block.rows
          ? { ...block, rows: block.rows.map((row) => row.map(storable)) }
          : { ...block, lines: block.lines.map((line) => storable(line).trimEnd()) },
      ),
    );
  }

  end(): WrittenDocument {
    const paragraphs = this.pages.flat().flatMap((block) => (block.rows ? [] : [block.lines]));
    this.hyphens.learn(paragraphs.flat());
    for (const { rows = [] } of this.pages.flat()) {
      for (const cell of rows.flat()) this.hyphens.learn(cell.split('\n'));
    }
    const pageStarts: number[] = [];
    let open: OpenTable | undefined;
    for (const [index, blocks] of this.joinedPages().entries()) {
      const rows = blocks.find(({ isRunning }) => !isRunning)?.rows;
      if (rows?.[0]?.length !== open?.columns) open = undefined;
      if (!open) this.writeRunning();
      this.writer.separate();
      pageStarts.push(this.writer.position);
      open = this.write(blocks, open);
      const recognised = this.recognised.get(index);
      if (recognised) writeRecognised(this.writer, recognised);
    }
    this.writeRunning();
    return { ...this.writer.end(), pageStarts };
  }

  /** The pages with words joined, also those that go on in the next column or on the next page. */
  private joinedPages(): PageBlock[][] {
    let last: string[] | undefined;
    return this.pages.map((blocks) =>
      blocks.map((block) => {
        if (block.isRunning) return block;
        if (block.rows) {
          last = undefined;
          return { rows: block.rows.map((row) => row.map((cell) => this.joined(cell))) };
        }
        const lines = this.hyphens.join(block.lines);
        const [end, start] = [last?.at(-1), lines[0]];
        if (last && end !== undefined && start !== undefined) {
          const [joined = end, ...rest] = this.hyphens.join([end, start]);
          if (joined !== end) {
            last[last.length - 1] = joined;
            lines.splice(0, 1, ...rest);
          }
        }
        last = lines;
        return { lines };
      }),
    );
  }

  private joined(cell: string): string {
    return this.hyphens.join(cell.split('\n')).join(' ');
  }

  /** The table that the page ends with may go on; headers and footers within it are written behind it. */
  private write(
    blocks: readonly PageBlock[],
    before: OpenTable | undefined,
  ): OpenTable | undefined {
    let goesOn = before;
    let open = before;
    for (const block of blocks) {
      if (block.isRunning) this.running.push(block);
      else if (block.rows) {
        if (!goesOn) this.writeRunning();
        open = this.table(block.rows, goesOn);
        goesOn = undefined;
      } else {
        this.writeRunning();
        this.writer.paragraph(block.lines.join('\n'));
        goesOn = open = undefined;
      }
      if (!open) this.writeRunning();
    }
    return open;
  }

  private writeRunning(): void {
    for (const block of this.running.splice(0)) {
      if (block.rows) this.table(block.rows, undefined);
      else this.writer.paragraph(block.lines.join('\n'));
    }
  }

  private table(rows: Rows, before: OpenTable | undefined): OpenTable {
    const [first = []] = rows;
    const columns = first.length;
    const open = before ?? {
      writer: new TableWriter(this.writer),
      columns,
      head: first.join('\n'),
      rows: 0,
    };
    // A head that is repeated on each page is known already.
    const isRepeated = before !== undefined && first.join('\n') === open.head;
    for (const cells of isRepeated ? rows.slice(1) : rows) {
      open.rows += 1;
      open.writer.add(open.rows, cells);
    }
    // The table is written before the next page starts; rows that follow are added below.
    open.writer.end();
    return open;
  }
}
