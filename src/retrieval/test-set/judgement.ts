import type { Expected } from './test-set.entity.js';
import type { JudgedRanking } from './ranking-metrics.js';

/** What was found, in its order. */
export interface FoundFragment {
  readonly fid: string;
  readonly docId: string;
}

/**
 * The ranking that found fragments are for a query. A query may expect documents, which their first fragment in the
 * ranking stands for while the others take no place, or single fragments, or both.
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

/** One text for a document or a fragment. */
export function keyOf(one: { readonly docId: string } | { readonly fid: string }): string {
  return 'docId' in one ? `doc ${one.docId}` : `fragment ${one.fid}`;
}
