import { msg } from '../../../platform/message/index.js';
import { refuseTooManyPages } from './document-source.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { StructureWriter } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';

/** Extracted content of a slide. */
export interface SlideText {
  /** Title in one line; '' without one. */
  readonly title: string;
  readonly pieces: readonly Piece[];
  /** Speaker notes. */
  readonly notes: readonly Piece[];
}

/**
 * The slides of a presentation as pages. A slide without a title is headed by its number, so that it does not stand under the title of
 * the one before it; one without anything is an empty page. Throws Refusal where there are more than the limits allow.
 */
export async function readSlides<Slide>(
  slides: readonly Slide[],
  limits: ReadLimits,
  textOf: (slide: Slide) => SlideText | Promise<SlideText>,
): Promise<ReadDocument> {
  refuseTooManyPages({ pages: slides.length, of: msg`presentation`, unit: msg`slides` }, limits);
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  const pageStarts: number[] = [];
  for (const [index, slide] of slides.entries()) {
    writer.separate();
    pageStarts.push(writer.position);
    const { title, pieces, notes } = await textOf(slide);
    if (title === '' && pieces.length + notes.length === 0) continue;
    structure.heading(title === '' ? `Slide ${index + 1}` : title, 1);
    structure.put(pieces);
    if (notes.length > 0) structure.put([{ type: 'paragraph', text: 'Notes:' }, ...notes]);
  }
  structure.end();
  const source = { kind: 'document' as const, ...writer.end(), pageStarts };
  return { source, pages: slides.length };
}
