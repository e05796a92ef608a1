import type { RetrievedFragment } from '../../retrieval/index.js';

/** The stored reference to a fragment that was sent to the model; its text stays in the knowledge base. */
export interface SourceReference {
  /** The number by which the answer cites it, from 1. */
  readonly number: number;
  readonly knowledgeId: number;
  readonly docId: string;
  readonly fid: string;
  /** Name of the document. */
  readonly document: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  readonly score: number;
}

export interface Source extends SourceReference {
  readonly content: string;
}

export interface SourceBudget {
  readonly pieces: number;
  /** Characters of all contents together. */
  readonly characters: number;
}

/**
 * The numbered fragments for the model: round robin over the knowledge bases, best first, because scores of different
 * bases are not comparable. Duplicate texts are left out, and so are fragments that exceed the remaining budget; smaller
 * ones after them are still considered.
 */
export function chooseSources(
  results: readonly (readonly RetrievedFragment[])[],
  budget: SourceBudget,
): Source[] {
  const sources: Source[] = [];
  const taken = new Set<string>();
  let room = budget.characters;
  for (const fragment of inTurn(results)) {
    if (sources.length === budget.pieces) break;
    const text = fragment.content.trim();
    if (text.length > room || taken.has(text)) continue;
    taken.add(text);
    room -= text.length;
    sources.push(sourceOf(fragment, sources.length + 1));
  }
  return sources;
}

export function referenceOf({ content: _, ...reference }: Source): SourceReference {
  return reference;
}

function* inTurn(results: readonly (readonly RetrievedFragment[])[]): Generator<RetrievedFragment> {
  const longest = Math.max(0, ...results.map((fragments) => fragments.length));
  for (let place = 0; place < longest; place += 1) {
    for (const fragments of results) {
      const fragment = fragments[place];
      if (fragment) yield fragment;
    }
  }
}

function sourceOf(fragment: RetrievedFragment, number: number): Source {
  const { knowledgeId, docId, fid, sourceName: document } = fragment;
  const { page, headings, location, score, content } = fragment;
  return { number, knowledgeId, docId, fid, document, page, headings, location, score, content };
}

/** The citations of an answer. */
export interface Citations {
  /** Numbers of cited sources, ascending. */
  readonly cited: readonly number[];
  /** Cited numbers that no source has: that text is not from the documents. */
  readonly unknown: readonly number[];
}

/** [1], [1, 2], [1][2] and their full-width forms; the text of a Markdown link is not a citation. */
const MARK = /(?:\[|【)\s*(\d{1,3}(?:\s*[,，、]\s*\d{1,3})*)\s*(?:\](?!\()|】)/g;

/** Finds the cited numbers and checks them against the sources, which are numbered from 1. */
export function citationsIn(answer: string, sources: number): Citations {
  const numbers = new Set<number>();
  for (const [, list = ''] of answer.matchAll(MARK)) {
    for (const number of list.split(/[,，、]/)) numbers.add(Number(number));
  }
  const ascending = [...numbers].sort((a, b) => a - b);
  return {
    cited: ascending.filter((number) => number >= 1 && number <= sources),
    unknown: ascending.filter((number) => number < 1 || number > sources),
  };
}
