import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** The histogram measures the time between two ticks of a timer of this period, so that it is part of each value. */
const SAMPLE_MS = 10;

/**
 * Process time, memory and how long the event loop kept others waiting. prom-client's own defaults are not used,
 * because they install observers that stay for ever. Returns the way to stop.
 */
export function measureProcess(registry: Registry): () => void {
  const registers = [registry];
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delay.enable();
  new Gauge({
    name: 'plinth_event_loop_lag_seconds',
    help: 'How long the event loop was late since the last scrape',
    labelNames: ['value'] as const,
    registers,
    collect(): void {
      this.set({ value: 'mean' }, lagSeconds(delay.mean));
      this.set({ value: 'p99' }, lagSeconds(delay.percentile(99)));
      this.set({ value: 'max' }, lagSeconds(delay.max));
      delay.reset();
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of this process',
    registers,
    collect(): void {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process',
    registers,
    collect(): void {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'JavaScript heap in use',
    registers,
    collect(): void {
      this.set(process.memoryUsage().heapUsed);
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When this process started, in seconds since 1970',
    registers,
  }).set(Math.round(Date.now() / 1_000 - process.uptime()));
  return () => delay.disable();
}

function lagSeconds(nanoseconds: number): number {
  // Right after a reset there is no sample yet, and the mean is not a number.
  return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - SAMPLE_MS / 1e3) : 0;
}
