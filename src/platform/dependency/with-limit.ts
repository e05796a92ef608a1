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
