import { endOfText } from './block.js';
import type { Block, Span, SourceBlock, TableBlock } from './block.js';

/**
 * The blocks that the parser found. Text that it left out between them is prose; blocks that are empty, out of order
 * or lie in one another lose what lies before the end of the one above.
 */
export function givenBlocks(text: string, given: readonly SourceBlock[]): Block[] {
  const reader = new GivenReader(text);
  for (const block of given) reader.take(block);
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
