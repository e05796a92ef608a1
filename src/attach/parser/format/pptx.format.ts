import { MathReader, ommlToLatex } from './formula.js';
import { missingPart } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { readSlides } from './slides.js';
import type { SlideText } from './slides.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { attributeOf, isOn, relationshipIn, ElementSkip } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

/** Places of a layout whose text is the same on every slide, or counts them. */
const RUNNING = ['sldNum', 'dt', 'ftr', 'hdr', 'sldImg'];

const TITLES = ['title', 'ctrTitle'];

/** Places of a layout whose paragraphs are items of a list unless they say otherwise. */
const BULLETS = ['body', 'obj'];

const MAX_TITLE_CHARS = 250;

/**
 * The slides of a presentation as pages: title, text, tables, SmartArt and speaker notes. No pictures and no charts.
 */
export async function readPptx(
  document: DocumentPackage,
  limits: ReadLimits,
): Promise<ReadDocument> {
  const main = await document.mainPart('ppt/presentation.xml');
  const list = new SlideListReader();
  if (!(await document.readXml(main, list))) {
    throw missingPart(main);
  }
  const links = new Map((await document.relationshipsOf(main)).map((link) => [link.id, link]));
  const slides = list.ids
    .map((id) => links.get(id)?.target)
    .filter((target) => target !== undefined);
  return readSlides(slides, limits, (slide) => slideOf(document, slide));
}

async function slideOf(document: DocumentPackage, part: string): Promise<SlideText> {
  const { title, pieces } = await shapesOf(document, part);
  const links = await document.relationshipsOf(part);
  const slidePieces: Piece[] = [];
  for (const { type, target } of links) {
    if (type === 'diagramData') slidePieces.push(...(await shapesOf(document, target)).pieces);
  }
  const notes = links.find(({ type }) => type === 'notesSlide')?.target;
  const speakerNotes = notes === undefined ? [] : (await shapesOf(document, notes)).pieces;
  return { title, pieces: [...pieces, ...slidePieces], notes: speakerNotes };
}

async function shapesOf(document: DocumentPackage, part: string) {
  const reader = new ShapeReader();
  await document.readXml(part, reader);
  return reader.end();
}

class SlideListReader implements XmlHandler {
  readonly ids: string[] = [];

  open(name: string, attributes: XmlAttributes): void {
    const id = name === 'sldId' ? relationshipIn(attributes) : undefined;
    if (id !== undefined) this.ids.push(id);
  }

  close(): void {}
}

interface Paragraph {
  text: string;
  level: number;
  bullet: boolean | undefined;
}

/** The texts of the shapes of a slide, of its notes or of a drawing made of texts. */
class ShapeReader implements XmlHandler {
  /** Captures every piece; nothing is written directly. */
  private readonly structure = new StructureWriter(new BlockWriter());
  private readonly titles: string[] = [];
  /** Kind of the layout's placeholder for the shape. */
  private place: string | undefined;
  private paragraph: Paragraph | undefined;
  private reading = false;
  private readonly skip = new ElementSkip();
  private inCell = false;
  private math: MathReader | undefined;

  constructor() {
    this.structure.capture();
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.math) {
      this.math.open(name, attributes);
      return;
    }
    if (this.skip.enter()) return;
    if (name === 'oMath') this.math = new MathReader();
    else if (name === 'Fallback' || (name === 'fld' && countsSlides(attributes))) {
      this.skip.begin();
    } else if (name === 'p') {
      this.paragraph = { text: '', level: 0, bullet: undefined };
    } else if (this.paragraph) this.startInParagraph(name, attributes, this.paragraph);
    else this.start(name, attributes);
  }

  text(text: string): void {
    if (this.math) this.math.text(storable(text));
    else if (this.reading && !this.skip.isActive && this.paragraph) {
      this.paragraph.text += storable(text);
    }
  }

  close(name: string): void {
    if (this.math) {
      if (!this.math.isWhole) {
        this.math.close(name);
        return;
      }
      if (this.paragraph) this.paragraph.text += ommlToLatex(this.math.end());
      this.math = undefined;
    }
    if (this.skip.leave()) return;
    if (name === 't') this.reading = false;
    else if (name === 'p') this.endParagraph();
    else if (name === 'sp') this.place = undefined;
    else if (name === 'tc') {
      this.inCell = false;
      this.structure.endCell();
    } else if (name === 'tr') this.structure.endRow();
    else if (name === 'tbl') this.structure.endTable();
  }

  end(): { readonly title: string; readonly pieces: readonly Piece[] } {
    return { title: this.titles.join(' '), pieces: this.structure.release() };
  }

  private start(name: string, attributes: XmlAttributes): void {
    if (name === 'sp') this.place = undefined;
    // cNvPr names the shape and is two levels below it.
    else if (name === 'cNvPr' && isHidden(attributes)) this.skip.begin(2);
    else if (name === 'ph') this.place = attributeOf(attributes, 'type') ?? 'obj';
    else if (name === 'tbl') this.structure.beginTable();
    else if (name === 'tr') this.structure.beginRow();
    else if (name === 'tc') {
      this.inCell = true;
      // Every cell stands in the file, and one that is merged is empty.
      const above = attributeOf(attributes, 'vMerge');
      this.structure.beginCell({ continued: above !== undefined && isOn(above) });
    }
  }

  private startInParagraph(name: string, attributes: XmlAttributes, paragraph: Paragraph): void {
    if (name === 't') this.reading = true;
    else if (name === 'br') paragraph.text += '\n';
    else if (name === 'pPr') paragraph.level = Number(attributeOf(attributes, 'lvl')) || 0;
    else if (name === 'buNone') paragraph.bullet = false;
    else if (name === 'buChar' || name === 'buAutoNum' || name === 'buBlip') {
      paragraph.bullet = true;
    }
  }

  private endParagraph(): void {
    const { paragraph, place } = this;
    this.paragraph = undefined;
    const text = paragraph?.text.trim() ?? '';
    if (!paragraph || text === '' || RUNNING.includes(place ?? '')) return;
    const isTitle = TITLES.includes(place ?? '') && !this.inCell;
    if (isTitle && this.titles.join(' ').length + text.length < MAX_TITLE_CHARS) {
      this.titles.push(text.replace(/\s+/g, ' '));
      return;
    }
    const listed = paragraph.bullet ?? (BULLETS.includes(place ?? '') || paragraph.level > 0);
    const mark = listed && !this.inCell ? `${'  '.repeat(Math.min(paragraph.level, 9))}- ` : '';
    this.structure.paragraph(`${mark}${text}`);
  }
}

function isHidden(attributes: XmlAttributes): boolean {
  const hidden = attributeOf(attributes, 'hidden');
  return hidden !== undefined && isOn(hidden);
}

function countsSlides(attributes: XmlAttributes): boolean {
  return /^(?:slidenum|datetime)/i.test(attributeOf(attributes, 'type') ?? '');
}
