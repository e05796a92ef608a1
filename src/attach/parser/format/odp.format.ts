import { phrase } from '../../../platform/message/index.js';
import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import { refuseTooManyPages } from './document-source.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { OpenDocumentReader, refuseEncryptedPackage } from './odt.format.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { attributeOf } from './xml-reader.js';
import type { XmlAttributes } from './xml-reader.js';

/** Places of a layout whose text is the same on every slide, or counts them. */
const RUNNING = ['page-number', 'date-time', 'footer', 'header', 'page'];

interface Slide {
  readonly title: string;
  readonly pieces: readonly Piece[];
  readonly notes: readonly Piece[];
}

/** The slides of an OpenDocument presentation as pages: title, text, tables and speaker notes. No pictures and no charts. */
export async function readOdp(
  document: DocumentPackage,
  limits: ReadLimits,
): Promise<ReadDocument> {
  await refuseEncryptedPackage(document);
  const reader = new SlideReader();
  if (!(await document.readXml('content.xml', reader))) throw missingPart('content.xml');
  const { slides } = reader;
  refuseTooManyPages(
    { pages: slides.length, of: phrase`presentation`, unit: phrase`slides` },
    limits,
  );
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  const pageStarts: number[] = [];
  for (const [index, { title, pieces, notes }] of slides.entries()) {
    writer.separate();
    pageStarts.push(writer.position);
    if (title === '' && pieces.length + notes.length === 0) continue;
    structure.heading(title === '' ? `Slide ${index + 1}` : title, 1);
    structure.put(pieces);
    if (notes.length > 0) structure.put([{ type: 'paragraph', text: 'Notes:' }, ...notes]);
  }
  structure.end();
  return { source: { kind: 'document', ...writer.end(), pageStarts }, pages: slides.length };
}

class SlideReader extends OpenDocumentReader {
  readonly slides: Slide[] = [];
  private readonly titles: string[] = [];
  /** What the frames around the current place are on the layout. */
  private readonly places: (string | undefined)[] = [];
  private notes: readonly Piece[] = [];

  constructor() {
    super(new StructureWriter(new BlockWriter()), new Map());
  }

  override open(name: string, attributes: XmlAttributes): void {
    if (name === 'page' || name === 'notes') this.structure.capture();
    else if (name === 'frame') this.places.push(attributeOf(attributes, 'class'));
    super.open(name, attributes);
  }

  override close(name: string): void {
    super.close(name);
    if (name === 'frame') this.places.pop();
    else if (name === 'notes') this.notes = this.structure.release();
    else if (name === 'page') {
      const title = this.titles.splice(0).join(' ');
      this.slides.push({ title, pieces: this.structure.release(), notes: this.notes });
      this.notes = [];
    }
  }

  protected override place(pieces: readonly Piece[]): void {
    const place = this.places.at(-1) ?? '';
    if (RUNNING.includes(place)) return;
    if (place !== 'title') {
      super.place(pieces);
      return;
    }
    for (const piece of pieces) {
      if (piece.type !== 'table') this.titles.push(piece.text.replace(/\s+/g, ' ').trim());
    }
  }
}
