import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { CollapsedText } from './collapsed-text.js';
import { missingPart, passwordProtected } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import { PAGE_NUMBER, runningLine } from './running-line.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { attributeOf, ElementSkip } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

/** Deleted text, comments, what describes pictures, scripts and forms, and phonetic guides. */
const SKIPPED = new Set([
  'tracked-changes',
  'annotation',
  'note-citation',
  'desc',
  'script',
  'forms',
  'ruby-text',
  'sequence-decls',
  'variable-decls',
]);

const PAGE_COUNTS = new Set(['page-number', 'page-count']);

/** Maximum number of blanks that one element may represent. */
const BLANK_LIMIT = 100;

const STYLE_CHAIN = 20;

/**
 * Headings, paragraphs, list items, tables, frames and notes of an OpenDocument text, in their order; what its headers
 * say at the start, and its footers at the end. No pictures.
 */
export async function readOdt(document: DocumentPackage): Promise<SourceDocument> {
  await refuseEncryptedPackage(document);
  const running = new RunningLineReader();
  await document.readXml('styles.xml', running);
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  for (const line of running.headers) structure.paragraph(line);
  const body = new OpenDocumentReader(structure, running.parents);
  if (!(await document.readXml('content.xml', body))) {
    throw missingPart('content.xml');
  }
  structure.end();
  for (const line of running.footers) if (!running.headers.has(line)) structure.paragraph(line);
  return { kind: 'document', ...writer.end() };
}

/** Throws Refusal for a document that needs a password. */
export async function refuseEncryptedPackage(document: DocumentPackage): Promise<void> {
  await document.readXml('META-INF/manifest.xml', {
    open: (name) => {
      if (name === 'encryption-data') throw passwordProtected();
    },
    close: () => undefined,
  });
}

interface Paragraph {
  readonly text: CollapsedText;
  /** Level of a heading; undefined for other paragraphs. */
  readonly level: number | undefined;
  /** Number of lists around the paragraph. */
  readonly lists: number;
  /** Notes and frames in it. */
  readonly after: Piece[];
}

/** Reads the texts of an OpenDocument file in their order. */
export class OpenDocumentReader implements XmlHandler {
  private readonly paragraphs: Paragraph[] = [];
  private readonly skip = new ElementSkip();
  /** Lists around the current place, apart for each frame, note and cell. */
  private readonly lists: number[] = [0];

  constructor(
    protected readonly structure: StructureWriter,
    /** The style that each style is based on. */
    readonly parents: Map<string, string>,
  ) {}

  open(name: string, attributes: XmlAttributes): void {
    if (this.skip.enter()) return;
    const paragraph = this.paragraphs.at(-1);
    if (SKIPPED.has(name)) this.skip.begin();
    else if (PAGE_COUNTS.has(name) && paragraph) {
      paragraph.text.addExactly(PAGE_NUMBER);
      this.skip.begin();
    } else if (name === 'style') {
      const parent = attributeOf(attributes, 'parent-style-name');
      if (parent !== undefined) this.parents.set(attributeOf(attributes, 'name') ?? '', parent);
    } else if (name === 'p' || name === 'h') this.startParagraph(name, attributes);
    else if (paragraph && this.appendBlank(name, attributes, paragraph)) return;
    else this.startBlock(name, attributes);
  }

  text(text: string): void {
    if (!this.skip.isActive) this.paragraphs.at(-1)?.text.add(storable(text));
  }

  close(name: string): void {
    if (this.skip.leave()) return;
    switch (name) {
      case 'p':
      case 'h': {
        const paragraph = this.paragraphs.pop();
        if (paragraph) this.write(paragraph);
        break;
      }
      case 'list':
        this.lists.push((this.lists.pop() ?? 1) - 1);
        break;
      case 'note-body':
      case 'text-box':
        this.lists.pop();
        this.place(this.structure.release());
        break;
      case 'table-cell':
        this.lists.pop();
        this.structure.endCell();
        break;
      case 'table-row':
        this.structure.endRow();
        break;
      case 'table':
        this.structure.endTable();
        break;
      default:
    }
  }

  protected write({ text, level, lists, after }: Paragraph): void {
    const clean = text.take().replaceAll(PAGE_NUMBER, '').trim();
    if (level !== undefined) this.structure.heading(clean, level);
    else if (lists > 0 && clean !== '') {
      this.structure.paragraph(`${'  '.repeat(Math.min(lists - 1, 9))}- ${clean}`);
    } else this.structure.paragraph(clean);
    this.structure.put(after);
  }

  private startParagraph(name: string, attributes: XmlAttributes): void {
    const style = attributeOf(attributes, 'style-name');
    const outline = Number(attributeOf(attributes, 'outline-level') ?? 1);
    const titled = this.isTitle(style) ? 1 : undefined;
    this.paragraphs.push({
      text: new CollapsedText(),
      level: name === 'h' ? Math.max(1, outline || 1) : titled,
      lists: this.lists.at(-1) ?? 0,
      after: [],
    });
  }

  /** Automatic styles have a parent in the styles of the document. */
  private isTitle(style: string | undefined): boolean {
    let name = style;
    for (let step = 0; name !== undefined && step < STYLE_CHAIN; step += 1) {
      if (name === 'Title') return true;
      name = this.parents.get(name);
    }
    return false;
  }

  private appendBlank(name: string, attributes: XmlAttributes, paragraph: Paragraph): boolean {
    if (name === 's') {
      const count = Number(attributeOf(attributes, 'c') ?? 1) || 1;
      paragraph.text.addExactly(' '.repeat(Math.min(Math.max(count, 1), BLANK_LIMIT)));
    } else if (name === 'tab') paragraph.text.addExactly('\t');
    else if (name === 'line-break') paragraph.text.addExactly('\n');
    else return false;
    return true;
  }

  private startBlock(name: string, attributes: XmlAttributes): void {
    switch (name) {
      case 'list':
        this.lists.push((this.lists.pop() ?? 0) + 1);
        break;
      case 'note-body':
      case 'text-box':
        this.lists.push(0);
        this.structure.capture();
        break;
      case 'table':
        this.structure.beginTable();
        break;
      case 'table-row':
        this.structure.beginRow();
        break;
      case 'table-cell':
        this.lists.push(0);
        // Cells that others cover stand in the file as covered ones, which the spans make up for.
        this.structure.beginCell({
          columns: Number(attributeOf(attributes, 'number-columns-spanned')) || 1,
          rows: Number(attributeOf(attributes, 'number-rows-spanned')) || 1,
        });
        break;
      default:
    }
  }

  /** Puts the text of a frame or note where it belongs. */
  protected place(pieces: readonly Piece[]): void {
    const paragraph = this.paragraphs.at(-1);
    if (paragraph) for (const piece of pieces) paragraph.after.push(piece);
    else this.structure.put(pieces);
  }
}

/** The lines of headers and footers of the pages, each once, and the parents of styles. */
class RunningLineReader extends OpenDocumentReader {
  readonly headers = new Set<string>();
  readonly footers = new Set<string>();
  private lines: Set<string> | undefined;

  constructor() {
    super(new StructureWriter(new BlockWriter()), new Map());
  }

  override open(name: string, attributes: XmlAttributes): void {
    if (/^header(?:-left|-first)?$/.test(name)) this.lines = this.headers;
    else if (/^footer(?:-left|-first)?$/.test(name)) this.lines = this.footers;
    super.open(name, attributes);
  }

  override close(name: string): void {
    super.close(name);
    if (/^(?:header|footer)(?:-left|-first)?$/.test(name)) this.lines = undefined;
  }

  protected override write({ text }: Paragraph): void {
    const line = runningLine(text.take());
    if (line !== '') this.lines?.add(line);
  }
}
