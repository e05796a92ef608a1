import type { VectorEntry } from './vector-store.js';

interface BatchLimits {
  readonly entries: number;
  /** Vector elements per batch; a single entry may exceed it. */
  readonly numbers: number;
}

/**
 * The entries in batches for statements and requests: each fragment once (the last entry wins), ordered by fragment id,
 * grouped by dimension.
 */
export function batchesOf(entries: readonly VectorEntry[], limits: BatchLimits): VectorEntry[][] {
  const last = new Map(entries.map((entry) => [entry.fragmentId, entry]));
  const byDimension = Map.groupBy(
    [...last.values()].sort((a, b) => a.fragmentId - b.fragmentId),
    ({ vector }) => vector.length,
  );
  return [...byDimension].flatMap(([dimension, all]) => {
    const fitting = Math.floor(limits.numbers / Math.max(1, dimension));
    const size = Math.max(1, Math.min(limits.entries, fitting));
    const count = Math.ceil(all.length / size);
    return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
  });
}
