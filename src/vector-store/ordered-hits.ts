import type { VectorHit, VectorQuery } from './vector-store.js';

/** What a search answers of the candidates: see VectorQuery and VectorStore.search. */
export function orderedHits(
  candidates: readonly VectorHit[],
  { limit, threshold }: Pick<VectorQuery, 'limit' | 'threshold'>,
): VectorHit[] {
  return (
    candidates
      // Rounding takes the product of two vectors of length 1 a little beyond 1.
      .map(({ fragmentId, score }) => ({ fragmentId, score: Math.min(1, Math.max(-1, score)) }))
      .filter(({ score }) => threshold <= 0 || score >= threshold)
      .sort((a, b) => b.score - a.score || a.fragmentId - b.fragmentId)
      .slice(0, limit)
  );
}
