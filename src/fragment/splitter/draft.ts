import type { Block } from './block.js';
import { cellsLocation, LineCounter, linesLocation } from './location.js';
import type { Piece } from './packing.js';
import { commonPath } from './section.js';
import type { Section } from './section.js';
import type { FragmentDraft, SourceDocument } from './source-document.js';

/** The blocks of a document and, for each, the section it is in. */
export interface Structure {
  readonly blocks: readonly Block[];
  readonly sectionOf: readonly Section[];
}

/** What is known of each piece beside its text. Pieces come in the order of the text. */
export function draftsOf(
  document: SourceDocument,
  { blocks, sectionOf }: Structure,
  pieces: readonly Piece[],
): FragmentDraft[] {
  const { text } = document;
  const placeOf = placing(document);
  return pieces.map((piece) => {
    const { start, end, header } = piece;
    const above = header ? `${text.slice(header.start, header.end)}\n` : '';
    const own = blocks.slice(piece.blocks.first, piece.blocks.end);
    const sections = sectionOf.slice(piece.blocks.first, piece.blocks.end);
    return {
      content: above + text.slice(start, end),
      start,
      end,
      headings: headingsOf(own, sections),
      ...placeOf(piece, own),
    };
  });
}

/** The headings above all of its text; headings that end it, or are all it has, do not count as text. */
function headingsOf(blocks: readonly Block[], sections: readonly Section[]): string[] {
  const ofText = sections.filter((_, index) => blocks[index]?.type !== 'heading');
  return commonPath(ofText.length > 0 ? ofText : sections);
}

type Place = Pick<FragmentDraft, 'page' | 'location'>;

function placing({
  kind,
  text,
  pageStarts,
}: SourceDocument): (piece: Piece, blocks: readonly Block[]) => Place {
  const starts = new LineCounter(text);
  const ends = new LineCounter(text);
  let page = 0;
  return ({ start, end }, blocks) => {
    while (pageStarts && (pageStarts[page] ?? Infinity) <= start) page += 1;
    const location =
      kind === 'table' || kind === 'document'
        ? cellsLocation(blocks)
        : linesLocation(starts.lineAt(start), ends.lineAt(end));
    return {
      ...(pageStarts ? { page: Math.max(page, 1) } : {}),
      ...(location === undefined ? {} : { location }),
    };
  };
}
