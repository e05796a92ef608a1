import { citationMarks } from '../../agent/index.js';
import type { Source } from '../../agent/index.js';

/** A place of an answer that cites a source. */
export interface Citation {
  /** Of the brackets, in UTF-16 code units. */
  readonly start_index: number;
  readonly end_index: number;
  readonly title: string;
  /** Names the fragment; there is no page at it. */
  readonly url: string;
  /** The number of the source. */
  readonly source: number;
}

/** The citations of those sources that the model was given. */
export function citationsOf(text: string, sources: readonly Source[]): Citation[] {
  return citationMarks(text).flatMap(({ number, start, end }) => {
    const source = sources.find((one) => one.number === number);
    if (!source) return [];
    const { document: title } = source;
    return [
      { start_index: start, end_index: end, title, url: urlOf(source), source: source.number },
    ];
  });
}

export function urlOf({ knowledgeId, docId, fid }: Source): string {
  return `plinth://knowledge/${knowledgeId}/${encodeURIComponent(docId)}#${encodeURIComponent(fid)}`;
}
