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
 * frequency, which is never negative. Fragments need not have all of the words; the best come first, equal scores in the
 * order of their ids. With `among` only these are found; how rare a word is depends on the whole corpus.
 * docs/decisions/0043-words-as-written.md has what is new here: other spellings and joined words.
 */
export function rank(
  { words, joined }: FoundQuestion,
  corpus: Corpus,
  limit: number,
  among?: ReadonlySet<number>,
): KeywordHit[] {
  integers.reset();
  doubles.reset();
  const all = [...words, ...joined];
  const averageLength = Math.max(1, corpus.terms) / Math.max(1, corpus.fragments);
  const length = sum(words.map(({ frequency }) => frequency));
  const k3 = Math.min(MAX_K3, Math.max(MIN_K3, length / WORDS_PER_K3));
  const gainsOfAll = all.map(({ postings, similar, frequency: queryFrequency }) => {
    const weighing = { ...corpus, averageLength, k3, queryFrequency };
    const exact = gainsOf(postings, weighing);
    const weight = exact.count > 0 ? OTHER_SPELLING : 1;
    return bestForm(exact, gainsOf(similar, { ...weighing, weight }));
  });
  const { fragments, gains } = candidatesOf(gainsOfAll, words.length, limit, among);
  // In the order of the question, so that equal sums are rounded equally.
  const scores = doubles.take(fragments.count);
  for (const word of gains.slice(0, words.length)) add(scores, word);
  addJoined(scores, joined, gains, words.length);
  const top = bestOf(scores, limit, fragments);
  const terms = wordsOf(top, all, gains, fragments.count);
  return top.map((number, index) => ({
    fragmentId: fragments.idOf(number),
    score: scores[number] ?? 0,
    terms: terms[index] ?? [],
  }));
}

/** Numbers that are kept from one ranking to the next; more are given back. */
const MAX_REUSED_COUNT = 2_097_152;

/**
 * Arrays of a ranking, which runs without a pause and is followed by others. V8 counts the memory of arrays that it has not
 * collected yet, and answers many of them with collections of the whole heap, which take longer than the ranking.
 */
class Scratch<Values extends Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>> {
  private values: Values;
  private used = 0;

  constructor(private readonly create: (length: number) => Values) {
    this.values = create(65_536);
  }

  /** An array of zeros, until `reset`. */
  take(length: number): Values {
    if (this.used + length > this.values.length) {
      this.values = this.create(Math.max(length, 2 * this.values.length));
      this.used = 0;
    }
    const next = this.values.subarray(this.used, this.used + length) as Values;
    this.used += length;
    return next.fill(0) as Values;
  }

  reset(): void {
    this.used = 0;
    if (this.values.length > MAX_REUSED_COUNT) this.values = this.create(65_536);
  }
}

const integers = new Scratch((length) => new Int32Array(length));
const doubles = new Scratch((length) => new Float64Array(length));

/** Ids of a page: those of a document follow each other. */
const PAGE = 256;

/**
 * Numbers fragments from 0 on, in the order in which they are met, so that what is known of them can be kept in arrays: a
 * Map of 100,000 scores takes three times as long. Postings have ids in ascending order, so the next one is mostly in the
 * same page of a table, which is read in a tenth of the time of a hash table.
 */
class FragmentNumbers {
  /** Where the pages are in `numbers`, by id divided by their size. */
  private readonly pages = new Map<number, number>();
  /** Fragment number plus 1; 0 for an id without one. */
  private numbers = integers.take(16 * PAGE);
  private ids = doubles.take(1_024);
  private page = -1;
  private pageStart = -1;
  count = 0;

  /** The number of the fragment, which gets one if it has none. */
  of(id: number): number {
    if (!this.turnTo(id)) this.addPage();
    const place = this.placeOf(id);
    const existing = this.numbers[place] ?? 0;
    if (existing > 0) return existing - 1;
    if (this.count === this.ids.length) this.ids = grown(this.ids, doubles.take(2 * this.count));
    this.ids[this.count] = id;
    this.count += 1;
    this.numbers[place] = this.count;
    return this.count - 1;
  }

  /** The number of the fragment; -1 if it has none. */
  find(id: number): number {
    return this.turnTo(id) ? (this.numbers[this.placeOf(id)] ?? 0) - 1 : -1;
  }

  idOf(number: number): number {
    return this.ids[number] ?? 0;
  }

  /** Whether there is a page for the id. */
  private turnTo(id: number): boolean {
    const page = Math.floor(id / PAGE);
    if (page !== this.page) {
      this.page = page;
      this.pageStart = this.pages.get(page) ?? -1;
    }
    return this.pageStart >= 0;
  }

  private placeOf(id: number): number {
    return this.pageStart + (id - this.page * PAGE);
  }

  private addPage(): void {
    this.pageStart = this.pages.size * PAGE;
    this.pages.set(this.page, this.pageStart);
    const { length } = this.numbers;
    if (this.pageStart < length) return;
    this.numbers = grown(this.numbers, integers.take(2 * length));
  }
}

function grown<Values extends Int32Array | Float64Array>(values: Values, space: Values): Values {
  space.set(values);
  return space;
}

interface Weighing extends Corpus {
  readonly averageLength: number;
  readonly k3: number;
  /** Weight of this form among all forms of the word; 1 if absent. */
  readonly weight?: number;
  /** Number of occurrences in the question. */
  readonly queryFrequency: number;
}

type VisitGain = (fragmentId: number, gain: number) => void;

/**
 * Scores that one word, or several words as one, add to fragments. They are computed from the postings at each visit: arrays of
 * them for frequent words would be most of what a search allocates, and collecting them most of its time.
 */
interface Gains {
  readonly count: number;
  /** The largest of the gains. */
  readonly most: number;
  /** Visits each fragment once. */
  each(visit: VisitGain): void;
}

function gainsOf(
  postings: readonly Buffer[],
  { fragments, averageLength, k3, queryFrequency, weight = 1 }: Weighing,
): Gains {
  const saturation = (frequency: number, length: number): number =>
    (frequency * (K1 + 1)) / (frequency + K1 * (1 - B + (B * length) / averageLength));
  const [only = NO_POSTINGS] = postings;
  const visitAll =
    postings.length > 1
      ? summed(postings)
      : (visit: Visit): void => {
          readPostings(only, visit);
        };
  let count = 0;
  let most = 0;
  visitAll((_, frequency, length) => {
    count += 1;
    most = Math.max(most, saturation(frequency, length));
  });
  const among = Math.max(fragments, count);
  const rarity = Math.log(1 + (among - count + 0.5) / (count + 0.5));
  const factor = (weight * rarity * (queryFrequency * (k3 + 1))) / (queryFrequency + k3);
  return {
    count,
    most: factor * most,
    each: (visit) => {
      visitAll((fragmentId, frequency, length) => {
        visit(fragmentId, factor * saturation(frequency, length));
      });
    },
  };
}

const NO_POSTINGS = Buffer.alloc(0);

/** A fragment may have a word by several stems, whose frequencies count together. */
function summed(postings: readonly Buffer[]): (visit: Visit) => void {
  const fragments = new FragmentNumbers();
  const frequencies: number[] = [];
  const lengths: number[] = [];
  for (const bytes of postings) {
    readPostings(bytes, (fragmentId, frequency, length) => {
      const number = fragments.of(fragmentId);
      frequencies[number] = (frequencies[number] ?? 0) + frequency;
      lengths[number] = length;
    });
  }
  return (visit) => {
    for (let number = 0; number < fragments.count; number += 1) {
      visit(fragments.idOf(number), frequencies[number] ?? 0, lengths[number] ?? 0);
    }
  };
}

/** The gains by the form of the word that says most of each fragment. */
function bestForm(one: Gains, other: Gains): Gains {
  if (one.count === 0 || other.count === 0) return one.count === 0 ? other : one;
  const fragments = new FragmentNumbers();
  const gains: number[] = [];
  for (const form of [one, other]) {
    form.each((fragmentId, gain) => {
      const number = fragments.of(fragmentId);
      gains[number] = Math.max(gains[number] ?? 0, gain);
    });
  }
  return {
    count: fragments.count,
    most: Math.max(one.most, other.most),
    each: (visit) => {
      for (const [number, gain] of gains.entries()) visit(fragments.idOf(number), gain);
    },
  };
}

/** The gains of candidates, by their numbers. */
interface CandidateGains {
  readonly count: number;
  readonly numbers: Int32Array;
  readonly gains: Float64Array;
}

const NO_GAINS: CandidateGains = {
  count: 0,
  numbers: new Int32Array(),
  gains: new Float64Array(),
};

/** Keeps a sum apart from one that differs by rounding alone. */
const MARGIN = 1 - 1e-9;

/**
 * The fragments that can be among the best, and what each word adds to them, by MaxScore (Turtle and Flood, "Query evaluation:
 * strategies and optimizations", 1995): the words that add most come first. Once the others together add less than the best
 * have already, a fragment that has only others is none of the best. Those are the frequent ones, with most of the postings.
 */
function candidatesOf(
  all: readonly Gains[],
  wordCount: number,
  limit: number,
  among?: ReadonlySet<number>,
): { fragments: FragmentNumbers; gains: readonly CandidateGains[] } {
  const fragments = new FragmentNumbers();
  for (const id of among ?? []) fragments.of(id);
  const gains = all.map(() => NO_GAINS);
  const place = (at: number, canAdd: boolean): CandidateGains => {
    const word = all[at];
    const placed = word ? placedIn(fragments, word, canAdd) : NO_GAINS;
    gains[at] = placed;
    return placed;
  };
  // What joined words add depends on other words, so each of their fragments is a candidate.
  for (let at = wordCount; at < all.length; at += 1) place(at, among === undefined);
  const order = [...all.keys()]
    .slice(0, wordCount)
    .sort((a, b) => (all[b]?.most ?? 0) - (all[a]?.most ?? 0));
  let scores = doubles.take(1_024);
  let isOpen = among === undefined;
  for (const [done, at] of order.entries()) {
    const others = order.slice(done);
    // Reading the scores of all candidates pays where more fragments would be added.
    if (isOpen && (all[at]?.count ?? 0) > fragments.count) {
      const best = bestOf(scores.subarray(0, fragments.count), limit, fragments);
      const least = best.length < limit ? 0 : (scores[best.at(-1) ?? 0] ?? 0);
      isOpen = sum(others.map((other) => all[other]?.most ?? 0)) >= least * MARGIN;
    }
    const placed = place(at, isOpen);
    if (!isOpen) continue;
    while (scores.length < fragments.count) {
      scores = grown(scores, doubles.take(2 * scores.length));
    }
    add(scores, placed);
  }
  return { fragments, gains };
}

/** The gains of those fragments that have a number; the others get one where `canAdd`. */
function placedIn(fragments: FragmentNumbers, word: Gains, canAdd: boolean): CandidateGains {
  const most = canAdd ? word.count : Math.min(word.count, fragments.count);
  const numbers = integers.take(most);
  const gains = doubles.take(most);
  let count = 0;
  word.each((fragmentId, gain) => {
    const number = canAdd ? fragments.of(fragmentId) : fragments.find(fragmentId);
    if (number < 0) return;
    numbers[count] = number;
    gains[count] = gain;
    count += 1;
  });
  return { count, numbers, gains };
}

function add(scores: Float64Array, { count, numbers, gains }: CandidateGains): void {
  for (let at = 0; at < count; at += 1) {
    const number = numbers[at] ?? 0;
    scores[number] = (scores[number] ?? 0) + (gains[at] ?? 0);
  }
}

/**
 * Adds what fragments gain by words that they have as one: by a name all of it, by others what exceeds the gain by the words
 * apart. Of names with a word in common only the one that says most counts.
 */
function addJoined(
  scores: Float64Array,
  joined: readonly FoundJoined[],
  gains: readonly CandidateGains[],
  words: number,
): void {
  if (joined.length === 0) return;
  const added = doubles.take(scores.length);
  const rest = doubles.take(scores.length);
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
function subtract(
  values: Float64Array,
  { count, numbers, gains }: CandidateGains = NO_GAINS,
): void {
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

/** The numbers of the best with a score above 0, best first. Keeps no more than twice the limit at a time. */
function bestOf(scores: Float64Array, limit: number, fragments: FragmentNumbers): number[] {
  const order = (one: number, other: number): number =>
    (scores[other] ?? 0) - (scores[one] ?? 0) || fragments.idOf(one) - fragments.idOf(other);
  let best: number[] = [];
  let least = 0;
  for (let number = 0; number < scores.length; number += 1) {
    const score = scores[number] ?? 0;
    if (score <= 0 || score < least) continue;
    best.push(number);
    if (best.length < limit * 2) continue;
    best = best.sort(order).slice(0, limit);
    least = scores[best.at(-1) ?? 0] ?? 0;
  }
  return best.sort(order).slice(0, limit);
}

/** The words that each of the best has, in the order of the question. */
function wordsOf(
  best: readonly number[],
  matchedWords: readonly MatchedWord[],
  gains: readonly CandidateGains[],
  candidates: number,
): string[][] {
  const words = best.map((): string[] => []);
  const ranks = integers.take(candidates);
  for (const [index, number] of best.entries()) ranks[number] = index + 1;
  for (const [place, { count, numbers }] of gains.entries()) {
    const { word = '' } = matchedWords[place] ?? {};
    for (let at = 0; at < count; at += 1) {
      const rankOf = ranks[numbers[at] ?? 0] ?? 0;
      if (rankOf > 0) words[rankOf - 1]?.push(word);
    }
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

type Visit = (fragmentId: number, frequency: number, length: number) => void;

/** Calls `visit` for each posting, in the order in which they were packed. */
export function readPostings(bytes: Buffer, visit: Visit): void {
  const numbers = new PackedNumbers(bytes);
  while (numbers.at < bytes.length) visit(numbers.next(), numbers.next(), numbers.next());
}

class PackedNumbers {
  private readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  next(): number {
    const { bytes } = this;
    let { at } = this;
    let byte = bytes[at] ?? 0;
    let number = byte & 127;
    // Ids exceed the 32 bits that shifting works on.
    for (let weight = 128; byte >= 128; weight *= 128) {
      at += 1;
      byte = bytes[at] ?? 0;
      number += (byte & 127) * weight;
    }
    this.at = at + 1;
    return number;
  }
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
