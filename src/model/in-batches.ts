/** The items in their order, at most `size` together. */
export function inBatches<T>(items: readonly T[], size: number): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) {
    batches.push(items.slice(start, start + size));
  }
  return batches;
}
