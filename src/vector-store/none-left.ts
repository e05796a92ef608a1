import { VectorStoreError } from './vector-store.errors.js';

/** For what must have removed everything: a vector that stays could be found for ever. */
export function assertNoneLeft(count: number): void {
  if (count === 0) return;
  throw new VectorStoreError(
    `${count} vectors are left after removing all of them: some were added at the same time. Delete again.`,
  );
}
