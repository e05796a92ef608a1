import mammoth from 'mammoth';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { BlockWriter, TableWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';

/** What mammoth makes of a document before it turns it into HTML: just the properties that are read here. */
interface DocxElement {
  readonly type: string;
  readonly children?: readonly DocxElement[];
  /** Of a text. */
  readonly value?: string;
  readonly styleName?: string | null;
  readonly numbering?: { readonly level: string } | null;
  readonly colSpan?: number;
  readonly rowSpan?: number;
  readonly checked?: boolean;
}

interface DocxDocument extends DocxElement {
  readonly notes: {
    resolve(reference: DocxElement): { readonly body: readonly DocxElement[] } | null;
  };
}

/** As Word names them in every language, and as two others that write .docx do. */
const HEADING = /^(?:heading|标题|標題|見出し) ?([1-9])$/i;

/** Word has 63 columns at most. */
const COLUMN_LIMIT = 1_000;

/** Headings, paragraphs, list items, tables and foot notes of a Word document, in their order. No pictures. */
export async function readDocx(bytes: Buffer): Promise<SourceDocument> {
  const writer = new BlockWriter();
  await mammoth.convertToHtml(
    { buffer: bytes },
    {
      transformDocument: (document: DocxDocument) => {
        new DocxReader(writer, document).read();
        // Nothing is left to be turned into HTML.
        return { ...document, children: [] };
      },
    },
  );
  return { kind: 'document', ...writer.end() };
}

class DocxReader {
  constructor(
    private readonly writer: BlockWriter,
    private readonly document: DocxDocument,
  ) {}

  read(): void {
    this.blocks(this.document.children);
  }

  private blocks(elements: readonly DocxElement[] = []): void {
    for (const element of elements) {
      if (element.type === 'paragraph') this.paragraph(element);
      else if (element.type === 'table') this.table(element);
      else this.blocks(element.children);
    }
  }

  private paragraph(paragraph: DocxElement): void {
    const text = textOf(paragraph).trim();
    const level = headingLevel(paragraph.styleName);
    if (level !== undefined) this.writer.heading(text.replace(/\s+/g, ' '), level);
    else if (paragraph.numbering) this.writer.paragraph(listItem(text, paragraph.numbering.level));
    else this.writer.paragraph(text);
    // A foot note stands nowhere better than below what it explains.
    for (const reference of noteReferences(paragraph)) {
      const note = this.document.notes.resolve(reference);
      this.writer.paragraph((note?.body ?? []).map(textOf).join('\n').trim());
    }
  }

  private table(table: DocxElement): void {
    const rows = (table.children ?? []).map(({ children = [] }) => children);
    // A frame around text, or columns side by side: no table for a reader.
    if (rows.length < 2 || rows.every((cells) => cells.length < 2)) {
      this.blocks(table.children);
      return;
    }
    const writer = new TableWriter(this.writer);
    withSpans(rows).forEach((cells, index) => writer.add(index + 1, cells));
    writer.end();
  }
}

function headingLevel(styleName: string | null | undefined): number | undefined {
  if (styleName === 'Title') return 1;
  const level = HEADING.exec(styleName ?? '')?.[1];
  return level === undefined ? undefined : Number(level);
}

function listItem(text: string, level: string): string {
  return text === '' ? '' : `${'  '.repeat(Math.min(Number(level) || 0, 9))}- ${text}`;
}

/** A merged cell takes the place of all its cells: its text in each row, so that every row can be read alone. */
function withSpans(rows: readonly (readonly DocxElement[])[]): string[][] {
  const open = new Map<number, { text: string; rows: number }>();
  return rows.map((row) => {
    const cells: string[] = [];
    const fill = () => {
      for (let span = open.get(cells.length); span; span = open.get(cells.length)) {
        span.rows -= 1;
        if (span.rows === 0) open.delete(cells.length);
        cells.push(span.text);
      }
    };
    for (const cell of row) {
      fill();
      const text = textOf(cell);
      const { rowSpan = 1, colSpan = 1 } = cell;
      if (rowSpan > 1) open.set(cells.length, { text, rows: rowSpan - 1 });
      cells.push(text);
      const columns = Math.min(colSpan, COLUMN_LIMIT - cells.length);
      for (let column = 1; column < columns; column += 1) cells.push('');
    }
    fill();
    return cells;
  });
}

function textOf(element: DocxElement): string {
  const { type, value = '', children = [], checked } = element;
  if (type === 'text') return storable(value);
  if (type === 'tab') return '\t';
  if (type === 'break') return '\n';
  if (type === 'checkbox') return checked ? '☑' : '☐';
  const separator = type === 'tableCell' || type === 'table' || type === 'tableRow' ? ' ' : '';
  return children.map(textOf).join(separator);
}

function noteReferences(element: DocxElement): DocxElement[] {
  if (element.type === 'noteReference') return [element];
  return (element.children ?? []).flatMap(noteReferences);
}
