/** A word of the question, with everything that the index holds of it. */
interface MatchedWord {
  readonly word: string;
  /** Number of occurrences in the question. */
  readonly frequency: number;
  /** Postings of each of its stems; those of one fragment count together. */
  readonly postings: readonly Buffer[];
  /**
   * Postings of the stems of its other spellings. A fragment counts by these or by `postings`, whichever score higher.
   */
  readonly similar: readonly Buffer[];
}

/** Words of the question in one, such as email for e-mail. */
interface FoundJoined extends MatchedWord {
  /** A name, which counts beside its words; else it counts only as far as it says more than they. */
  readonly isName: boolean;
  /** Indexes of its words in `words`. */
  readonly places: readonly number[];
}

interface FoundQuestion {
  readonly words: readonly MatchedWord[];
  readonly joined: readonly FoundJoined[];
}

/** All fragments that are searched. */
interface Corpus {
  readonly fragments: number;
  /** Number of terms of all fragments, including repetitions. */
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
  /** Number of fragments that have at least one of the words; of the whole base where many documents were chosen. */
  readonly total: number;
}

/** Saturation of repetitions in a fragment. */
const K1 = 1.2;
/** Weight of another spelling in a base that has the word as spelled in the question. */
const OTHER_SPELLING = 0.5;
/** Strength of the length normalisation. */
const B = 0.75;
/**
 * Saturation of repetitions in the question, the k3 of Robertson and Walker ("Okapi/Keenbow at TREC-8", 1999): a tenth
 * of the question's words within these limits. docs/decisions/0043-words-as-written.md has the measurement.
 */
const MIN_K3 = 4;
const MAX_K3 = 8;
const WORDS_PER_K3 = 10;

/**
 * Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with Lucene's inverse document
 * frequency, which is never negative. Fragments need not have all of the words. With `among` only these are found; how rare
 * a word is depends on the whole corpus. docs/decisions/0043-words-as-written.md has what is new here: other spellings and
 * joined words.
 */
export function rank(
  { words, joined }: FoundQuestion,
  corpus: Corpus,
  limit: number,
  among?: ReadonlySet<number>,
): KeywordResult {
  const all = [...words, ...joined];
  const bytes = all.flatMap(({ postings, similar }) => [...postings, ...similar]);
  const numbers = new FragmentNumbers(sum(bytes.map(mostIn)));
  const averageLength = Math.max(1, corpus.terms) / Math.max(1, corpus.fragments);
  const length = sum(words.map(({ frequency }) => frequency));
  const k3 = Math.min(MAX_K3, Math.max(MIN_K3, length / WORDS_PER_K3));
  const occurrences = all.map(({ postings, similar }) =>
    [postings, similar].map((form) => occurrencesOf(form, numbers)),
  );
  const best = new Accumulator(numbers.count);
  const gains = occurrences.map(([exact = NONE, similar = NONE], at) => {
    const weighing = { ...corpus, averageLength, k3, queryFrequency: all[at]?.frequency ?? 1 };
    const weight = exact.count > 0 ? OTHER_SPELLING : 1;
    return best.bestOf(gainsOf(exact, weighing), gainsOf(similar, { ...weighing, weight }));
  });
  const scores = new Float64Array(numbers.count);
  for (const { count, numbers: having, gains: gained } of gains.slice(0, words.length)) {
    for (let at = 0; at < count; at += 1) {
      const number = having[at] ?? 0;
      scores[number] = (scores[number] ?? 0) + (gained[at] ?? 0);
    }
  }
  addJoined(scores, joined, gains, words.length);
  const wanted = among && ((number: number): boolean => among.has(numbers.idOf(number)));
  const top = bestOf(scores, limit, numbers, wanted);
  const matched = wordsOf(top, all, gains);
  const hits = top.map((number) => ({
    fragmentId: numbers.idOf(number),
    score: scores[number] ?? 0,
    terms: matched.get(number) ?? [],
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
  /** Fragment number plus 1 by place; 0 for an empty place. */
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

/** Occurrences of a word: the fragments that have it, how often, and their lengths. */
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
  readonly k3: number;
  /** Weight of this form among all forms of the word; 1 if absent. */
  readonly weight?: number;
  /** Number of occurrences in the question. */
  readonly queryFrequency: number;
}

/** Scores that one word, or several words as one, add to fragments. */
interface Gains {
  readonly count: number;
  readonly numbers: Int32Array;
  readonly gains: Float64Array;
}

function gainsOf(
  { count, numbers, frequencies, lengths }: Occurrences,
  { fragments, averageLength, k3, queryFrequency, weight = 1 }: Weighing,
): Gains {
  const among = Math.max(fragments, count);
  const rarity = Math.log(1 + (among - count + 0.5) / (count + 0.5));
  const factor = (weight * rarity * (queryFrequency * (k3 + 1))) / (queryFrequency + k3);
  const gains = new Float64Array(count);
  for (let at = 0; at < count; at += 1) {
    const frequency = frequencies[at] ?? 0;
    const damping = K1 * (1 - B + (B * (lengths[at] ?? 0)) / averageLength);
    gains[at] = (factor * (frequency * (K1 + 1))) / (frequency + damping);
  }
  return { count, numbers, gains };
}

const NONE: Occurrences = {
  count: 0,
  numbers: new Int32Array(),
  frequencies: new Float64Array(),
  lengths: new Float64Array(),
};

const NO_GAINS: Gains = { count: 0, numbers: new Int32Array(), gains: new Float64Array() };

/** The gains by the form of the word that says most of each fragment. */
class Accumulator {
  /** Place among the gains plus 1, by fragment number; 0 for none. Empty between two calls. */
  private readonly places: Int32Array;

  constructor(count: number) {
    this.places = new Int32Array(count);
  }

  bestOf(one: Gains, other: Gains): Gains {
    if (one.count === 0 || other.count === 0) return one.count === 0 ? other : one;
    const forms = [one, other];
    const most = one.count + other.count;
    const numbers = new Int32Array(most);
    const gains = new Float64Array(most);
    let count = 0;
    for (const form of forms) {
      for (let at = 0; at < form.count; at += 1) {
        const number = form.numbers[at] ?? 0;
        const gain = form.gains[at] ?? 0;
        const place = (this.places[number] ?? 0) - 1;
        if (place >= 0) {
          gains[place] = Math.max(gains[place] ?? 0, gain);
          continue;
        }
        numbers[count] = number;
        gains[count] = gain;
        count += 1;
        this.places[number] = count;
      }
    }
    for (let at = 0; at < count; at += 1) this.places[numbers[at] ?? 0] = 0;
    return { count, numbers, gains };
  }
}

/**
 * Adds what fragments gain by words that they have as one: by a name all of it, by others what exceeds the gain by the words
 * apart. Of names with a word in common only the one that says most counts.
 */
function addJoined(
  scores: Float64Array,
  joined: readonly FoundJoined[],
  gains: readonly Gains[],
  words: number,
): void {
  if (joined.length === 0) return;
  const added = new Float64Array(scores.length);
  const rest = new Float64Array(scores.length);
  for (const group of groupsOf(joined)) {
    for (const place of group) {
      const { isName = false, places = [] } = joined[place] ?? {};
      const { count, numbers, gains: gained } = gains[words + place] ?? NO_GAINS;
      for (let at = 0; at < count; at += 1) rest[numbers[at] ?? 0] = gained[at] ?? 0;
      const apart = isName || count === 0 ? [] : places;
      for (const word of apart) subtract(rest, gains[word]);
      for (let at = 0; at < count; at += 1) {
        const number = numbers[at] ?? 0;
        const more = Math.max(0, (rest[number] ?? 0) - (added[number] ?? 0));
        scores[number] = (scores[number] ?? 0) + more;
        added[number] = (added[number] ?? 0) + more;
        rest[number] = 0;
      }
    }
    for (const place of group) {
      const { count, numbers } = gains[words + place] ?? NO_GAINS;
      for (let at = 0; at < count; at += 1) added[numbers[at] ?? 0] = 0;
    }
  }
}

/** Subtracts the gains from the values above 0. */
function subtract(values: Float64Array, { count, numbers, gains }: Gains = NO_GAINS): void {
  for (let at = 0; at < count; at += 1) {
    const number = numbers[at] ?? 0;
    const value = values[number] ?? 0;
    if (value > 0) values[number] = value - (gains[at] ?? 0);
  }
}

/** The places of those that have words in common, in the order of the question. */
function groupsOf(joined: readonly FoundJoined[]): number[][] {
  const groups: { places: number[]; words: Set<number> }[] = [];
  for (const [place, { places }] of joined.entries()) {
    const last = groups.at(-1);
    if (last && places.some((word) => last.words.has(word))) {
      last.places.push(place);
      for (const word of places) last.words.add(word);
    } else groups.push({ places: [place], words: new Set(places) });
  }
  return groups.map(({ places }) => places);
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
  matchedWords: readonly MatchedWord[],
  gains: readonly Gains[],
): ReadonlyMap<number, string[]> {
  const words = new Map(best.map((number): [number, string[]] => [number, []]));
  for (const [at, { count, numbers }] of gains.entries()) {
    const { word = '' } = matchedWords[at] ?? {};
    for (const number of numbers.subarray(0, count)) words.get(number)?.push(word);
  }
  return words;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Occurrence of a term in a fragment. */
export interface Posting {
  readonly fragmentId: number;
  /** Number of occurrences of the term. */
  readonly frequency: number;
  /** Number of terms of the fragment. */
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

/** Maximum number of postings in the bytes: each of the three numbers takes at least one byte. */
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
  const remaining: Posting[] = [];
  readPostings(bytes, (fragmentId, frequency, length) => {
    if (taken.has(fragmentId)) lengths.set(fragmentId, length);
    else remaining.push({ fragmentId, frequency, length });
  });
  return packPostings(remaining);
}

function packNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}
