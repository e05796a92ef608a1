import type { Metrics, UpstreamKind } from '../platform/observability/index.js';
import { UpstreamError } from '../provider/index.js';

/** Makes one call of a model service and counts how it ended. */
export async function countedCall<T>(
  metrics: Metrics,
  { provider, kind }: { readonly provider: string; readonly kind: UpstreamKind },
  call: () => Promise<T>,
): Promise<T> {
  const started = performance.now();
  let outcome = 'ok';
  try {
    return await call();
  } catch (error) {
    outcome = error instanceof UpstreamError ? error.kind : 'error';
    throw error;
  } finally {
    const seconds = (performance.now() - started) / 1_000;
    metrics.upstreamCall({ provider, kind, outcome, seconds });
  }
}

/** The items in their order, at most `size` together. */
export function inBatches<T>(items: readonly T[], size: number): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) {
    batches.push(items.slice(start, start + size));
  }
  return batches;
}
