import { readPostings } from './postings.js';

/** A term of the question, with everything that the index holds of it. */
export interface FoundTerm {
  readonly word: string;
  readonly postings: Buffer;
}

/** All fragments that are searched. */
export interface Corpus {
  readonly fragments: number;
  /** Of all fragments, repetitions included. */
  readonly terms: number;
}

export interface KeywordHit {
  readonly fragmentId: number;
  /** BM25, above 0. */
  readonly score: number;
  /** The words of the question, in lower case, that the fragment has in one form or another. */
  readonly terms: string[];
}

export interface KeywordResult {
  /** Best first; equal scores in the order of their ids. */
  readonly hits: KeywordHit[];
  /** How many fragments have at least one of the words. */
  readonly total: number;
}

/** How soon repetitions stop to count. */
const K1 = 1.2;
/** How much long fragments are held back. */
const B = 0.75;

/**
 * Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with Lucene's inverse document
 * frequency, which is never negative. Fragments need not have all of the words.
 */
export function rank(found: readonly FoundTerm[], corpus: Corpus, limit: number): KeywordResult {
  const scores = new Map<number, number>();
  const averageLength = Math.max(1, corpus.terms) / Math.max(1, corpus.fragments);
  for (const { postings } of found) addScores(scores, postings, { ...corpus, averageLength });
  const best = bestOf(scores, limit);
  const words = wordsOf(best, found);
  const hits = best.map(([fragmentId, score]) => ({
    fragmentId,
    score,
    terms: [...(words.get(fragmentId) ?? [])],
  }));
  return { hits, total: scores.size };
}

function addScores(
  scores: Map<number, number>,
  postings: Buffer,
  { fragments, averageLength }: { readonly fragments: number; readonly averageLength: number },
): void {
  const ids: number[] = [];
  const weights: number[] = [];
  readPostings(postings, (fragmentId, frequency, length) => {
    const damping = K1 * (1 - B + (B * length) / averageLength);
    ids.push(fragmentId);
    weights.push((frequency * (K1 + 1)) / (frequency + damping));
  });
  const among = Math.max(fragments, ids.length);
  const rarity = Math.log(1 + (among - ids.length + 0.5) / (ids.length + 0.5));
  ids.forEach((id, index) => {
    scores.set(id, (scores.get(id) ?? 0) + rarity * (weights[index] ?? 0));
  });
}

type Scored = readonly [fragmentId: number, score: number];

function compare(one: Scored, other: Scored): number {
  return other[1] - one[1] || one[0] - other[0];
}

/** Best first. Keeps no more than twice the limit at a time. */
function bestOf(scores: ReadonlyMap<number, number>, limit: number): Scored[] {
  let best: Scored[] = [];
  let least = 0;
  for (const entry of scores) {
    if (entry[1] < least) continue;
    best.push(entry);
    if (best.length < limit * 2) continue;
    best = best.sort(compare).slice(0, limit);
    least = best.at(-1)?.[1] ?? 0;
  }
  return best.sort(compare).slice(0, limit);
}

function wordsOf(
  best: readonly Scored[],
  found: readonly FoundTerm[],
): ReadonlyMap<number, ReadonlySet<string>> {
  const words = new Map(best.map(([fragmentId]) => [fragmentId, new Set<string>()]));
  for (const { word, postings } of found) {
    readPostings(postings, (fragmentId) => words.get(fragmentId)?.add(word));
  }
  return words;
}
