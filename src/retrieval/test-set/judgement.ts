import type { Expected } from './test-set.entity.js';
import type { JudgedRanking } from './ranking-metrics.js';

/** The found fragments in rank order. */
export interface FoundFragment {
  readonly fid: string;
  readonly docId: string;
}

/**
 * Converts found fragments to the ranking that is measured. A query may expect documents, fragments or both. A document
 * is ranked by its first fragment; its further fragments do not count.
 */
export function judge(
  found: readonly FoundFragment[],
  expected: readonly Expected[],
): JudgedRanking {
  const relevance = new Map(expected.map((one) => [keyOf(one), one.relevance]));
  const byDocument = expected.some((one) => 'docId' in one);
  const places = new Map<string, number>();
  for (const { fid, docId } of found) {
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
