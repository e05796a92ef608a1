import { VectorStoreError } from './vector-store.errors.js';

/** Asserts that a removal was complete, because a remaining vector would stay searchable. */
export function assertNoneLeft(count: number): void {
  if (count === 0) return;
  throw new VectorStoreError(
    `${count} vectors remain after the removal, because some were added at the same time. Delete again.`,
  );
}
