import PQueue from 'p-queue';

/**
 * Does the work of a list, so much of it at a time; answers the results in the order of the list. After a failure no more
 * is begun, and it is thrown only when nothing is at work any more: what the work stands on may then be closed.
 */
export async function sideBySide<T>(
  works: readonly (() => Promise<T>)[],
  atATime: number,
): Promise<T[]> {
  const queue = new PQueue({ concurrency: atATime });
  const results: T[] = [];
  let failure: { readonly cause: unknown } | undefined;
  for (const [index, work] of works.entries()) {
    void queue.add(async () => {
      try {
        results[index] = await work();
      } catch (cause) {
        failure ??= { cause };
        queue.clear();
      }
    });
  }
  await queue.onIdle();
  if (failure) throw failure.cause;
  return results;
}
