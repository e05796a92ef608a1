import { systemCaller } from '../../src/platform/access/index.js';
import { addFindings } from '../../src/model/model.findings.js';
import { UpstreamHealth } from '../../src/model/calls/upstream.health.js';
import type { UsageLimiter } from '../../src/usage/usage.limiter.js';
import { EventBus } from '../../src/platform/event/index.js';
import { InProcessEventBus } from '../../src/platform/event/event-bus.js';
import type { Metrics } from '../../src/platform/observability/index.js';
import { UpstreamCalls } from '../../src/model/index.js';
import type { ModelUse, ResolvedModel } from '../../src/model/index.js';
import type { Findings } from '../../src/provider/index.js';

/** The service itself tries something. */
export const TRYING: ModelUse = { caller: systemCaller('000000', 1), feature: 'test' };

/** Of relayed calls without a fallback of another protocol. */
export function notTranslated(): never {
  throw new Error('No request is translated here.');
}

/** Events within this process. */
export function newBus(): EventBus {
  return new InProcessEventBus();
}

/** Cooldowns by a clock and a chance of the test's own. */
export class TestHealth extends UpstreamHealth {
  time = 1_000;
  chance = 0;

  constructor(bus: EventBus = new InProcessEventBus()) {
    const metrics = { gauge: () => undefined };
    super(bus, metrics as never);
  }

  protected override now(): number {
    return this.time;
  }

  protected override random(): number {
    return this.chance;
  }
}

/** Calls without a store: `current` finds the model for each attempt, and what is counted goes to `counted`. */
export function unstoredCalls(
  current: (model: never) => Promise<unknown> = (model) => Promise.resolve(model),
  counted: Parameters<Metrics['upstreamCall']>[0][] = [],
  {
    fallbacks = [],
    health = new TestHealth(),
    attempted = [],
    limiter,
  }: {
    readonly fallbacks?: readonly ResolvedModel[];
    readonly health?: UpstreamHealth;
    /** Gets what would be recorded. */
    readonly attempted?: unknown[];
    /** Only models with limits ask it. */
    readonly limiter?: Pick<UsageLimiter, 'reserve' | 'maxOutput'>;
  } = {},
): UpstreamCalls {
  const metrics = {
    upstreamCall: (call) => void counted.push(call),
    firstToken: () => undefined,
  } satisfies Pick<Metrics, 'upstreamCall' | 'firstToken'>;
  const ledger = { enter: (entry: unknown) => void attempted.push(entry) };
  const fallbackOf = (_: unknown, id: number) =>
    Promise.resolve(fallbacks.find((one) => one.id === id));
  return new UpstreamCalls(
    { current, fallbackOf } as never,
    metrics as never,
    ledger as never,
    limiter as never,
    health,
    { keep: (model: ResolvedModel, learned: Findings) => addFindings(model, learned) } as never,
  );
}
