import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** The histogram measures the time between two ticks of a timer of this period, so that it is part of each value. */
const SAMPLE_MS = 10;

let registry: Registry | undefined;

/** The metrics of this process: prom-client's own, whose observers are never removed, so that they are made only once. */
export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delay.enable();
  new Gauge({
    name: 'plinth_event_loop_lag_seconds',
    help: 'How late the event loop was since the last scrape, the sampling period deducted',
    labelNames: ['value'] as const,
    registers: [registry],
    collect(): void {
      this.set({ value: 'mean' }, lagSeconds(delay.mean));
      this.set({ value: 'p99' }, lagSeconds(delay.percentile(99)));
      this.set({ value: 'max' }, lagSeconds(delay.max));
      delay.reset();
    },
  });
  return registry;
}

function lagSeconds(nanoseconds: number): number {
  // Right after a reset there is no sample yet, and the mean is not a number.
  return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1e3) : 0;
}
