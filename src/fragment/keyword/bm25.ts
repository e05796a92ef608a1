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
  const numbers = new FragmentNumbers(sum(found.flatMap(({ postings }) => postings.map(mostIn))));
  const occurrences = found.map(({ postings }) => occurrencesOf(postings, numbers));
  const scores = new Float64Array(numbers.count);
  const averageLength = Math.max(1, corpus.terms) / Math.max(1, corpus.fragments);
  for (const [at, { frequency }] of found.entries()) {
    const one = occurrences[at];
    if (one) addScores(scores, one, { ...corpus, averageLength, asked: frequency });
  }
  const wanted = among && ((number: number): boolean => among.has(numbers.idOf(number)));
  const best = bestOf(scores, limit, numbers, wanted);
  const words = wordsOf(best, found, occurrences);
  const hits = best.map((number) => ({
    fragmentId: numbers.idOf(number),
    score: scores[number] ?? 0,
    terms: words.get(number) ?? [],
  }));
  return {
    hits,
    total: wanted ? scores.filter((_, number) => wanted(number)).length : scores.length,
  };
}

/**
 * Numbers fragments from 0 on, in the order in which they are met, so that what is known of them can be kept in arrays: a
 * Map of 100,000 scores takes three times as long. Open addressing; the ids of a document follow each other, and 16 of them
 * are kept side by side.
 */
class FragmentNumbers {
  /** By place: the number and 1; 0 where there is none. */
  private readonly places: Int32Array;
  private readonly ids: Float64Array;
  count = 0;

  constructor(most: number) {
    this.places = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 16)));
    this.ids = new Float64Array(most);
  }

  of(id: number): number {
    const last = this.places.length - 1;
    let place = ((Math.imul(id >>> 4, 0x9e3779b1) << 4) | (id & 15)) & last;
    for (; ; place = (place + 1) & last) {
      const next = this.places[place] ?? 0;
      if (next === 0) break;
      if (this.ids[next - 1] === id) return next - 1;
    }
    this.ids[this.count] = id;
    this.count += 1;
    this.places[place] = this.count;
    return this.count - 1;
  }

  idOf(number: number): number {
    return this.ids[number] ?? 0;
  }
}

/** Where a word is: for each fragment that has it, which, how often, and how long the fragment is. */
interface Occurrences {
  readonly count: number;
  readonly numbers: Int32Array;
  readonly frequencies: Float64Array;
  readonly lengths: Float64Array;
}

/** Each fragment once, although it may have a word by several stems. */
function occurrencesOf(postings: readonly Buffer[], fragments: FragmentNumbers): Occurrences {
  const most = sum(postings.map(mostIn));
  const numbers = new Int32Array(most);
  const frequencies = new Float64Array(most);
  const lengths = new Float64Array(most);
  const places = postings.length > 1 ? new Map<number, number>() : undefined;
  let count = 0;
  for (const bytes of postings) {
    readPostings(bytes, (fragmentId, frequency, length) => {
      const number = fragments.of(fragmentId);
      const place = places?.get(number);
      if (place !== undefined) {
        frequencies[place] = (frequencies[place] ?? 0) + frequency;
        return;
      }
      places?.set(number, count);
      numbers[count] = number;
      frequencies[count] = frequency;
      lengths[count] = length;
      count += 1;
    });
  }
  return { count, numbers, frequencies, lengths };
}

interface Weighing extends Corpus {
  readonly averageLength: number;
  /** How often the question has the word. */
  readonly asked: number;
}

function addScores(
  scores: Float64Array,
  { count, numbers, frequencies, lengths }: Occurrences,
  { fragments, averageLength, asked }: Weighing,
): void {
  const among = Math.max(fragments, count);
  const rarity = Math.log(1 + (among - count + 0.5) / (count + 0.5));
  const factor = (rarity * (asked * (K3 + 1))) / (asked + K3);
  for (let at = 0; at < count; at += 1) {
    const frequency = frequencies[at] ?? 0;
    const damping = K1 * (1 - B + (B * (lengths[at] ?? 0)) / averageLength);
    const number = numbers[at] ?? 0;
    const weight = (frequency * (K1 + 1)) / (frequency + damping);
    scores[number] = (scores[number] ?? 0) + factor * weight;
  }
}

/** The numbers of the best, best first. Keeps no more than twice the limit at a time. */
function bestOf(
  scores: Float64Array,
  limit: number,
  fragments: FragmentNumbers,
  wanted?: (number: number) => boolean,
): number[] {
  const order = (one: number, other: number): number =>
    (scores[other] ?? 0) - (scores[one] ?? 0) || fragments.idOf(one) - fragments.idOf(other);
  let best: number[] = [];
  let least = 0;
  for (const [number, score] of scores.entries()) {
    if (score < least || wanted?.(number) === false) continue;
    best.push(number);
    if (best.length < limit * 2) continue;
    best = best.sort(order).slice(0, limit);
    least = scores[best.at(-1) ?? 0] ?? 0;
  }
  return best.sort(order).slice(0, limit);
}

function wordsOf(
  best: readonly number[],
  found: readonly FoundWord[],
  occurrences: readonly Occurrences[],
): ReadonlyMap<number, string[]> {
  const words = new Map(best.map((number): [number, string[]] => [number, []]));
  for (const [at, { count, numbers }] of occurrences.entries()) {
    const { word = '' } = found[at] ?? {};
    for (const number of numbers.subarray(0, count)) words.get(number)?.push(word);
  }
  return words;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
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

/** At most so many postings are in the bytes: each of the three numbers has one byte at least. */
function mostIn(bytes: Buffer): number {
  return Math.floor(bytes.length / 3);
}

type Visit = (fragmentId: number, frequency: number, length: number) => void;

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
