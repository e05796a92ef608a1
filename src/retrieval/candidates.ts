import type { KeywordHit } from '../fragment/index.js';
import type { VectorHit } from '../vector-store/index.js';
import { DEPTH } from './retrieval.js';
import type { BelowThreshold, Explanation, RetrievalSettings } from './retrieval.js';

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
