import type { RetrievedFragment } from './retrieval.js';

/** A found text, and what a reference to it is made of. */
export type CitableFragment = Pick<
  RetrievedFragment,
  | 'fid'
  | 'docId'
  | 'knowledgeId'
  | 'page'
  | 'headings'
  | 'location'
  | 'sourceName'
  | 'score'
  | 'content'
>;

/** Where a found text comes from. */
export interface FragmentReference {
  readonly knowledgeId: number;
  readonly docId: string;
  readonly fid: string;
  /** Name of the document. */
  readonly document: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  /** On the scale that the settings of its base decide, so scores of several bases cannot be compared. */
  readonly score: number;
}

export function fragmentReference(fragment: CitableFragment): FragmentReference {
  const { knowledgeId, docId, fid, sourceName: document } = fragment;
  const { page, headings, location, score } = fragment;
  return { knowledgeId, docId, fid, document, page, headings, location, score };
}

/** One of each list in turn, the first ones first: scores of different bases are not comparable. */
export function* inTurn<Item>(lists: readonly (readonly Item[])[]): Generator<Item> {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let place = 0; place < longest; place += 1) {
    for (const list of lists) yield* list.slice(place, place + 1);
  }
}
