/** A word of the question, with everything that the index holds of it. */
interface FoundWord {
  readonly word: string;
  /** How often the question has it. */
  readonly frequency: number;
  /** Of each of its stems; those of one fragment count together. */
  readonly postings: readonly Buffer[];
}

/** All fragments that are searched. */
interface Corpus {
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
 * How soon repetitions in the question stop to count, the k3 of Robertson and Walker ("Okapi/Keenbow at TREC-8", 1999).
 * docs/decisions/0019-query-terms-and-language.md has the measurement.
 */
const K3 = 2;

/**
 * Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with Lucene's inverse document
 * frequency, which is never negative. Fragments need not have all of the words. With `among` only these are found; how rare
 * a word is depends on the whole corpus.
 */
export function rank(
  found: readonly FoundWord[],
  corpus: Corpus,
  limit: number,
  among?: ReadonlySet<number>,
): KeywordResult {
  const scores = new Map<number, number>();
  const averageLength = Math.max(1, corpus.terms) / Math.max(1, corpus.fragments);
  for (const one of found) addScores(scores, one, { ...corpus, averageLength });
  if (among) {
    for (const fragmentId of [...scores.keys()]) {
      if (!among.has(fragmentId)) scores.delete(fragmentId);
    }
  }
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
  { frequency: asked, postings }: FoundWord,
  { fragments, averageLength }: { readonly fragments: number; readonly averageLength: number },
): void {
  const having = postingsOf(postings);
  const ids: number[] = [];
  const weights: number[] = [];
  having((fragmentId, frequency, length) => {
    const damping = K1 * (1 - B + (B * length) / averageLength);
    ids.push(fragmentId);
    weights.push((frequency * (K1 + 1)) / (frequency + damping));
  });
  const among = Math.max(fragments, ids.length);
  const rarity = Math.log(1 + (among - ids.length + 0.5) / (ids.length + 0.5));
  const factor = (rarity * (asked * (K3 + 1))) / (asked + K3);
  ids.forEach((id, index) => {
    scores.set(id, (scores.get(id) ?? 0) + factor * (weights[index] ?? 0));
  });
}

type Visit = (fragmentId: number, frequency: number, length: number) => void;

/** Visits each fragment once, although it may have a word by several stems. */
function postingsOf(postings: readonly Buffer[]): (visit: Visit) => void {
  const [first, ...others] = postings;
  if (!first) return () => undefined;
  if (others.length === 0) return (visit) => readPostings(first, visit);
  const sums = new Map<number, { frequency: number; readonly length: number }>();
  for (const bytes of postings) {
    readPostings(bytes, (fragmentId, frequency, length) => {
      const sum = sums.get(fragmentId);
      if (sum) sum.frequency += frequency;
      else sums.set(fragmentId, { frequency, length });
    });
  }
  return (visit) => sums.forEach(({ frequency, length }, id) => visit(id, frequency, length));
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
  found: readonly FoundWord[],
): ReadonlyMap<number, ReadonlySet<string>> {
  const words = new Map(best.map(([fragmentId]) => [fragmentId, new Set<string>()]));
  for (const { word, postings } of found) {
    for (const bytes of postings) {
      readPostings(bytes, (fragmentId) => words.get(fragmentId)?.add(word));
    }
  }
  return words;
}

/** That a fragment has a term. */
export interface Posting {
  readonly fragmentId: number;
  /** How often it has the term. */
  readonly frequency: number;
  /** How many terms it has in all. */
  readonly length: number;
}

/** Three numbers in base 128, lowest digits first; all but the last one of a number have the highest bit set. */
export function packPostings(postings: readonly Posting[]): Buffer {
  const bytes: number[] = [];
  for (const { fragmentId, frequency, length } of postings) {
    packNumber(bytes, fragmentId);
    packNumber(bytes, frequency);
    packNumber(bytes, length);
  }
  return Buffer.from(bytes);
}

/** Calls `visit` for each posting, in the order in which they were packed. */
export function readPostings(bytes: Buffer, visit: Visit): void {
  let at = 0;
  const next = (): number => {
    let number = 0;
    // Ids exceed the 32 bits that shifting works on.
    for (let weight = 1; ; weight *= 128) {
      const byte = bytes[at] ?? 0;
      at += 1;
      number += (byte & 127) * weight;
      if (byte < 128) return number;
    }
  };
  while (at < bytes.length) visit(next(), next(), next());
}

/** The postings of other fragments, and how many terms the taken ones have in all, by fragment. */
export function withoutFragments(
  bytes: Buffer,
  taken: ReadonlySet<number>,
  lengths: Map<number, number>,
): Buffer {
  const kept: Posting[] = [];
  readPostings(bytes, (fragmentId, frequency, length) => {
    if (taken.has(fragmentId)) lengths.set(fragmentId, length);
    else kept.push({ fragmentId, frequency, length });
  });
  return packPostings(kept);
}

function packNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}
