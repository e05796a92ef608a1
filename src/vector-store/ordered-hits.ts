import type { VectorHit, VectorQuery } from './vector-store.js';

/** The result of a search from its candidates, as VectorQuery and VectorStore.search define it. */
export function orderedHits(
  candidates: readonly VectorHit[],
  { limit }: Pick<VectorQuery, 'limit'>,
): VectorHit[] {
  return (
    candidates
      // Rounding can make the product of two unit vectors slightly greater than 1.
      .map(({ fragmentId, score }) => ({ fragmentId, score: Math.min(1, Math.max(-1, score)) }))
      .sort((a, b) => b.score - a.score || a.fragmentId - b.fragmentId)
      .slice(0, limit)
  );
}
