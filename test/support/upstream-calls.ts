import { systemCaller } from '../../src/platform/access/index.js';
import type { Metrics } from '../../src/platform/observability/index.js';
import { UpstreamCalls } from '../../src/model/index.js';
import type { ModelUse } from '../../src/model/index.js';

/** The service itself tries something. */
export const TRYING: ModelUse = { caller: systemCaller('000000', 1), feature: 'test' };

/** Calls without a store: `current` finds the model for each attempt, and what is counted goes to `counted`. */
export function unstoredCalls(
  current: (model: never) => Promise<unknown> = (model) => Promise.resolve(model),
  counted: Parameters<Metrics['upstreamCall']>[0][] = [],
): UpstreamCalls {
  const metrics = {
    upstreamCall: (call) => void counted.push(call),
    firstToken: () => undefined,
  } satisfies Pick<Metrics, 'upstreamCall' | 'firstToken'>;
  const books = { enter: () => undefined };
  // Only models with limits ask them.
  const limits = undefined as never;
  return new UpstreamCalls({ current } as never, metrics as never, books as never, limits);
}
