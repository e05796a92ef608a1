import type { Message } from '../platform/message/index.js';
import { MAX_RETRIEVED } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import type { LiveFragment } from './retrieval.repository.js';
import type { KeywordHit } from '../fragment/index.js';
import type { VectorHit } from '../vector-store/index.js';

/** Settings of a request that replace those of the knowledge base. */
export interface RetrievalOverrides {
  readonly topK?: number | undefined;
  /** Minimum cosine similarity in the vector channel; 0 admits everything. */
  readonly threshold?: number | undefined;
  readonly enableHybrid?: boolean | undefined;
  readonly hybridAlpha?: number | undefined;
  readonly enableRerank?: boolean | undefined;
  readonly rerankModel?: string | undefined;
}

/** The effective settings of a retrieval. */
export interface RetrievalSettings {
  readonly topK: number;
  readonly threshold: number;
  readonly enableHybrid: boolean;
  readonly hybridAlpha: number;
  readonly enableRerank: boolean;
  readonly rerankModel: string;
  /** Number of results; less than topK if rerankTopN is smaller. */
  readonly limit: number;
  /** Number of fragments that each channel searches for. */
  readonly depth: number;
  /** Maximum number of candidates of both channels together, and of those that the reranker gets. */
  readonly candidates: number;
  /** Threshold on the scale of the reranker; applies to its scores only. */
  readonly rerankScoreThreshold: number | undefined;
}

/** The ranks and scores of a fragment, or why it was dropped. */
export interface Explanation {
  /** Cosine similarity, and the rank in the vector channel from 1. */
  readonly vector: { readonly rank: number; readonly score: number } | null;
  /**
   * BM25 score, the matching words as the question and as the fragment has them, and the rank in the keyword channel from 1.
   * `words` only in a result that is explained.
   */
  readonly keyword: {
    readonly rank: number;
    readonly score: number;
    readonly terms: readonly string[];
    readonly words?: readonly string[];
  } | null;
  /** The fused score and the keyword weight; null without hybrid search. */
  readonly fusion: { readonly rank: number; readonly score: number; readonly alpha: number } | null;
  /** The reranker's score and rank; null when it was not used, failed, or omitted the fragment. */
  readonly rerank: { readonly rank: number; readonly score: number } | null;
  /** Reason for its exclusion; null if it is in the result. */
  readonly dropped: string | null;
}

export interface RetrievedFragment extends LiveFragment {
  /** Score on the scale that `scale` of the result names. */
  readonly score: number;
  /** The cosine similarity of the vector channel; absent where it is `score`, and where that channel did not find it. */
  readonly rawScore?: number;
  /** Position before the reranker, from 0; absent without one. */
  readonly originalIndex?: number;
  readonly explanation: Explanation;
}

/** The report of one channel. */
export interface ChannelReport {
  /** Number of fragments that it found, without those below the similarity threshold. */
  readonly hits: number;
  readonly milliseconds: number;
  /** Cause of the failure of the channel. */
  readonly failure?: Message;
  /** Vectors of the base were lost and are not all made again yet, so that fragments may be missing. */
  readonly incomplete?: boolean;
}

/** Nearest fragments of the vector channel that the similarity threshold excluded. */
export interface BelowThreshold {
  /**
   * Number of excluded fragments, at most the depth of the channel; those that the keyword channel found do not count.
   */
  readonly count: number;
  /** The highest cosine similarity among them; null where there are none. */
  readonly bestScore: number | null;
}

export interface RetrievalResult {
  readonly fragments: readonly RetrievedFragment[];
  /** Dropped candidates, the best of each reason; only when an explanation was requested. */
  readonly dropped: readonly RetrievedFragment[];
  readonly belowThreshold: BelowThreshold;
  readonly settings: RetrievalSettings;
  /** Meaning of `score`. */
  readonly scale: 'cosine' | 'fusion' | 'rerank';
  readonly channels: {
    readonly vector: ChannelReport;
    readonly keyword: ChannelReport | null;
  };
  /** `fallback`: the reranker failed and the order before it was used. */
  readonly rerank: 'off' | 'applied' | 'fallback';
  /** Notices about the result for users; mostly empty. */
  readonly notices: readonly Message[];
}

const DEFAULT_LIMIT = 10;
/** The reranker gets this many times topK candidates (docs/WIRE.md, Retrieval). */
const POOL = 3;

/**
 * Fusion adds the ranks of a fragment in both channels, so a search of another depth has another order. Therefore there
 * are two depths only: this one for a topK up to 50, and three times the largest topK for a larger one, whose ranks beyond
 * the first depth add nothing to fragments that are within it.
 */
export const DEPTH = 150;
const MAX_DEPTH = POOL * MAX_RETRIEVED;

/** The value of the request, else the saved one (docs/WIRE.md, Retrieval). */
export function settingsOf(
  knowledge: KnowledgeBase,
  overrides: RetrievalOverrides,
): RetrievalSettings {
  const topK = overrides.topK ?? (knowledge.retrieveLimit || DEFAULT_LIMIT);
  const rerankModel = (overrides.rerankModel?.trim() || knowledge.rerankModel?.trim()) ?? '';
  const enableRerank = overrides.enableRerank ?? knowledge.enableRerank === 1;
  return {
    topK,
    threshold: overrides.threshold ?? knowledge.similarityThreshold,
    enableHybrid: overrides.enableHybrid ?? knowledge.enableHybrid === 1,
    hybridAlpha: overrides.hybridAlpha ?? knowledge.hybridAlpha,
    enableRerank,
    rerankModel,
    limit: enableRerank ? Math.min(topK, knowledge.rerankTopN ?? topK) : topK,
    depth: topK * POOL <= DEPTH ? DEPTH : MAX_DEPTH,
    candidates: enableRerank ? topK * POOL : topK,
    rerankScoreThreshold: knowledge.rerankScoreThreshold ?? undefined,
  };
}

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

/** Origin of a retrieved text. */
export interface FragmentReference {
  readonly knowledgeId: number;
  readonly docId: string;
  readonly fid: string;
  /** Name of the document. */
  readonly document: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  /** Score on the scale that the settings of its base decide, so scores of several bases cannot be compared. */
  readonly score: number;
}

export function fragmentReference(fragment: CitableFragment): FragmentReference {
  const { knowledgeId, docId, fid, sourceName: document } = fragment;
  const { page, headings, location, score } = fragment;
  return { knowledgeId, docId, fid, document, page, headings, location, score };
}

/** Interleaves the lists, first items first: scores of different bases are not comparable. */
export function* interleave<Item>(lists: readonly (readonly Item[])[]): Generator<Item> {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let place = 0; place < longest; place += 1) {
    for (const list of lists) yield* list.slice(place, place + 1);
  }
}

/** Ranks of a fragment in the two channels, from 1; absent if a channel did not find it. */
interface ChannelRanks {
  readonly vectorRank?: number | undefined;
  readonly keywordRank?: number | undefined;
}

/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const K = 60;

/** Factor of the displayed score, which lies in 0 to 0.984 (docs/WIRE.md, Retrieval). */
const DISPLAY = 60;

/**
 * Weighted reciprocal rank fusion as displayed: 60 × ((1 − alpha) / (60 + vector rank) + alpha /
 * (60 + keyword rank)); a channel that did not find the fragment adds nothing. Higher alpha favours keywords.
 */
export function fusedScore({ vectorRank, keywordRank }: ChannelRanks, alpha: number): number {
  const vector = vectorRank === undefined ? 0 : (1 - alpha) / (K + vectorRank);
  const keyword = keywordRank === undefined ? 0 : alpha / (K + keywordRank);
  return DISPLAY * (vector + keyword);
}

/** A fragment found by a channel, with its scores so far. */
export interface Candidate {
  readonly fragmentId: number;
  readonly score: number;
  readonly explanation: Explanation;
}

/** The hits of the channels; empty for a failed or unused channel. */
interface ChannelHits {
  /** May contain hits below the threshold, which are dropped here with the reason. */
  readonly vector: readonly VectorHit[];
  readonly keyword: readonly KeywordHit[];
}

/** Dropped candidates that are explained for each reason, at least; as many as are kept where those are more. */
const EXPLAINED = 50;

export interface Candidates {
  readonly selected: readonly Candidate[];
  /** Best candidates beyond the size of the pool or below the threshold. */
  readonly dropped: readonly Candidate[];
  readonly belowThreshold: BelowThreshold;
}

/**
 * The candidates in their order before a reranker, and those dropped by the threshold and the size of the pool. The
 * similarity threshold applies to the vector channel: a fragment that the keyword channel also found stays, without a
 * vector rank.
 */
export function candidatesOf(hits: ChannelHits, settings: RetrievalSettings): Candidates {
  const near = nearOf(hits.vector, settings.threshold);
  const far = hits.vector.slice(near.length);
  const all = settings.enableHybrid ? fused(near, hits, settings.hybridAlpha) : near.map(alone);
  const rankedIds = new Set(all.map(({ fragmentId }) => fragmentId));
  const explained = Math.max(EXPLAINED, settings.candidates);
  const tooMany = all
    .slice(settings.candidates, settings.candidates + explained)
    .map((candidate) => withReason(candidate, `beyond the first ${settings.candidates}`));
  const below = far
    .map((hit, index) => alone(hit, near.length + index))
    .filter(({ fragmentId }) => !rankedIds.has(fragmentId));
  const tooFar = below
    .slice(0, explained)
    .map((one) => withReason(one, `similarity below the threshold ${settings.threshold}`));
  return {
    selected: all.slice(0, settings.candidates),
    dropped: [...tooMany, ...tooFar],
    belowThreshold: { count: below.length, bestScore: below[0]?.score ?? null },
  };
}

/** The hits that reach the threshold; 0 and less admit everything. */
export function nearOf(hits: readonly VectorHit[], threshold: number): readonly VectorHit[] {
  return threshold <= 0 ? hits : hits.filter(({ score }) => score >= threshold);
}

export function withReason<C extends { readonly explanation: Explanation }>(
  candidate: C,
  dropped: string,
): C {
  return { ...candidate, explanation: { ...candidate.explanation, dropped } };
}

function alone({ fragmentId, score }: VectorHit, index: number): Candidate {
  const vector = { rank: index + 1, score };
  return {
    fragmentId,
    score,
    explanation: { vector, keyword: null, fusion: null, rerank: null, dropped: null },
  };
}

/**
 * The places that count. One beyond DEPTH counts only for a fragment that no channel has within it: a deeper search then
 * scores what a shallower one has found as that did, and puts no other fragment among the first 45, which score more than
 * two places beyond DEPTH together.
 */
function counted<V extends Place, W extends Place>(
  vector: V | undefined,
  words: W | undefined,
): [V | undefined, W | undefined] {
  const isFar = (place: Place | undefined): boolean => place !== undefined && place.rank > DEPTH;
  if (isFar(vector) === isFar(words)) return [vector, words];
  return isFar(vector) ? [words ? undefined : vector, words] : [vector, vector ? undefined : words];
}

interface Place {
  readonly rank: number;
}

function fused(near: readonly VectorHit[], { keyword }: ChannelHits, alpha: number): Candidate[] {
  const vectorPlaces = new Map(
    near.map((hit, index) => [hit.fragmentId, { ...hit, rank: index + 1 }]),
  );
  const keywordPlaces = new Map(
    keyword.map((hit, index) => [hit.fragmentId, { ...hit, rank: index + 1 }]),
  );
  const ids = new Set([...vectorPlaces.keys(), ...keywordPlaces.keys()]);
  const scored = [...ids].map((fragmentId) => {
    const [vector, words] = counted(vectorPlaces.get(fragmentId), keywordPlaces.get(fragmentId));
    const score = fusedScore({ vectorRank: vector?.rank, keywordRank: words?.rank }, alpha);
    return { fragmentId, score, vector, words };
  });
  scored.sort((a, b) => b.score - a.score || a.fragmentId - b.fragmentId);
  return (
    scored
      // A weight of 0 or 1 disables the other channel, including fragments that only it found.
      .filter(({ score }) => score > 0)
      .map(({ fragmentId, score, vector, words }, index) => ({
        fragmentId,
        score,
        explanation: {
          vector: vector ? { rank: vector.rank, score: vector.score } : null,
          keyword: words ? { rank: words.rank, score: words.score, terms: words.terms } : null,
          fusion: { rank: index + 1, score, alpha },
          rerank: null,
          dropped: null,
        },
      }))
  );
}
