import PQueue from 'p-queue';

/**
 * Executes the tasks, so many at a time; answers the results in the order of the list. After a failure no further task
 * begins, and the failure is thrown only when none is executing any more: what the tasks depend on may then be closed.
 */
export async function inParallel<T>(
  tasks: readonly (() => Promise<T>)[],
  concurrency: number,
): Promise<T[]> {
  const queue = new PQueue({ concurrency });
  const results: T[] = [];
  let failure: { readonly cause: unknown } | undefined;
  for (const [index, task] of tasks.entries()) {
    void queue.add(async () => {
      try {
        results[index] = await task();
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
