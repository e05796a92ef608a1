/**
 * The value of the promise, or of `otherwise` when the promise takes longer than the limit. What comes of the promise after
 * that is ignored.
 */
export async function withLimit<T, U>(
  limitMs: number,
  promise: Promise<T>,
  otherwise: () => U,
): Promise<T | U> {
  const limit = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => limit.resolve(undefined), limitMs);
  try {
    return await Promise.race([promise, limit.promise.then(otherwise)]);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of the work; rejects with the signal's reason as soon as it aborts, although the work may go on. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
