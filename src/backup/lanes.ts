/** Contents that are copied at the same time: each takes several calls of a storage, whose answers are far away. */
const LANES = 8;

/**
 * Works on the items, several at a time. After a failure none is begun; rejects with it when those that were begun have
 * ended.
 */
export async function inLanes<T>(
  items: AsyncGenerator<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // The loop that fails ends the generator, and with it the others.
  const lanes = Array.from({ length: LANES }, async () => {
    for await (const item of items) await work(item);
  });
  await Promise.allSettled(lanes);
  await Promise.all(lanes);
}
