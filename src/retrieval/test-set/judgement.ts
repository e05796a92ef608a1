import type { Expected } from './test-set.entity.js';

/** The found fragments in rank order. */
interface RankedFragment {
  readonly fid: string;
  readonly docId: string;
}

/**
 * Converts found fragments to the ranking that is measured. A query may expect documents, fragments or both. A document
 * is ranked by its first fragment; its further fragments do not count.
 */
export function judge(
  results: readonly RankedFragment[],
  expected: readonly Expected[],
): JudgedRanking {
  const relevance = new Map(expected.map((one) => [keyOf(one), one.relevance]));
  const byDocument = expected.some((one) => 'docId' in one);
  const places = new Map<string, number>();
  for (const { fid, docId } of results) {
    const fragment = relevance.get(keyOf({ fid }));
    const key = fragment === undefined && byDocument ? keyOf({ docId }) : keyOf({ fid });
    if (!places.has(key)) places.set(key, relevance.get(key) ?? 0);
  }
  return { gains: [...places.values()], relevant: expected.map((one) => one.relevance) };
}

/** The key of a document or a fragment. */
export function keyOf(one: { readonly docId: string } | { readonly fid: string }): string {
  return 'docId' in one ? `doc ${one.docId}` : `fragment ${one.fid}`;
}

/**
 * Metrics of one ranking for one query, each from 0 to 1. `gains` has the relevance at each rank, 0 for irrelevant
 * results; `relevant` the relevance of all expected results, in any order, at least one.
 */
interface JudgedRanking {
  readonly gains: readonly number[];
  readonly relevant: readonly number[];
}

/**
 * Normalised discounted cumulative gain at k, as trec_eval's `ndcg_cut` and BEIR compute it: the gain
 * is the relevance itself, the discount log2(place + 1), the ideal is the best order of everything relevant.
 */
export function ndcg({ gains, relevant }: JudgedRanking, k: number): number {
  const ideal = discounted([...relevant].sort((a, b) => b - a).slice(0, k));
  return ideal === 0 ? 0 : discounted(gains.slice(0, k)) / ideal;
}

/** The share of the relevant results within the first k. */
export function recall({ gains, relevant }: JudgedRanking, k: number): number {
  const matchCount = gains.slice(0, k).filter((gain) => gain > 0).length;
  return relevant.length === 0 ? 0 : matchCount / relevant.length;
}

/** 1 divided by the rank of the first relevant result; 0 when there is none within the first k. */
export function reciprocalRank({ gains }: JudgedRanking, k: number): number {
  const first = gains.slice(0, k).findIndex((gain) => gain > 0);
  return first === -1 ? 0 : 1 / (first + 1);
}

/** 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0);
}
