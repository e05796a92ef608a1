import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { OpenDocumentReader, refuseEncryptedPackage } from './odt.format.js';
import { readSlides } from './slides.js';
import type { SlideText } from './slides.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { attributeOf } from './xml-reader.js';
import type { XmlAttributes } from './xml-reader.js';

/** Places of a layout whose text is the same on every slide, or counts them. */
const RUNNING = ['page-number', 'date-time', 'footer', 'header', 'page'];

/** The slides of an OpenDocument presentation as pages: title, text, tables and speaker notes. No pictures and no charts. */
export async function readOdp(
  document: DocumentPackage,
  limits: ReadLimits,
): Promise<ReadDocument> {
  await refuseEncryptedPackage(document);
  const reader = new SlideReader();
  if (!(await document.readXml('content.xml', reader))) throw missingPart('content.xml');
  return readSlides(reader.slides, limits, (slide) => slide);
}

class SlideReader extends OpenDocumentReader {
  readonly slides: SlideText[] = [];
  private readonly titles: string[] = [];
  /** Placeholder kinds of the open frames, from the layout. */
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
