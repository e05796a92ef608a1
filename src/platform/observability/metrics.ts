import { monitorEventLoopDelay } from 'node:perf_hooks';
import { statfs } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { OpenStreams } from '../access/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Database } from '../database/index.js';
import { Dependencies, withLimit } from '../dependency/index.js';

export type UpstreamKind =
  | 'chat'
  | 'embedding'
  | 'rerank'
  | 'media'
  | 'transcript'
  | 'moderation'
  | 'list';

export interface UpstreamCall {
  readonly provider: string;
  readonly kind: UpstreamKind;
  /** `ok`, `aborted`, or what went wrong: `error` or a narrower word such as `timeout-idle`. */
  readonly outcome: string;
  readonly seconds: number;
}

export interface AnsweredRequest {
  readonly method: string;
  readonly route: string;
  /** The code of the envelope, not the HTTP status; `aborted` when the client left before an answer. */
  readonly code: string;
  readonly seconds: number;
}

const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180];
const UPSTREAM_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1_800];
const FIRST_TOKEN_BUCKETS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 180];

/** How long a scrape waits for a value of a feature. Scrapes usually end after ten seconds. */
const READ_MS = 2_000;

/** Users enter provider codes, and a label value lives as long as the process: any other value becomes `other`. */
const LABEL_VALUE = /^[a-z0-9_.-]{1,50}$/;
const MAX_LABEL_VALUES = 100;

/** The counters and timings of this application, in a registry of its own. Labels never hold data of a tenant. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();
  private readonly process = processMetrics();
  private readonly registers = [this.registry];
  private readonly providers = new BoundedLabel();
  private readonly outcomes = new BoundedLabel();
  private readonly leases = new Map<string, () => Promise<number | undefined>>();

  private readonly requests = new Counter({
    name: 'plinth_http_requests_total',
    help: 'Answered requests by route pattern and envelope code',
    labelNames: ['method', 'route', 'code'] as const,
    registers: this.registers,
  });

  private readonly requestSeconds = new Histogram({
    name: 'plinth_http_request_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['route'] as const,
    buckets: REQUEST_BUCKETS,
    registers: this.registers,
  });

  private readonly upstreamCalls = new Counter({
    name: 'plinth_upstream_calls_total',
    help: 'Calls of model services by provider code and outcome',
    labelNames: ['provider', 'kind', 'outcome'] as const,
    registers: this.registers,
  });

  private readonly limitsReached = new Counter({
    name: 'plinth_limits_reached_total',
    help: 'Calls of model services that a limit has refused, by what it limits',
    labelNames: ['measure'] as const,
    registers: this.registers,
  });

  private readonly upstreamSeconds = new Histogram({
    name: 'plinth_upstream_seconds',
    help: 'Time of a call of a model service, its stream included',
    labelNames: ['provider', 'kind'] as const,
    buckets: UPSTREAM_BUCKETS,
    registers: this.registers,
  });

  private readonly firstTokenSeconds = new Histogram({
    name: 'plinth_first_token_seconds',
    help: 'Time from the call of a chat model to its first token',
    labelNames: ['provider'] as const,
    buckets: FIRST_TOKEN_BUCKETS,
    registers: this.registers,
  });

  constructor(streams: OpenStreams, database: Database, dependencies: Dependencies) {
    new Gauge({
      name: 'plinth_open_streams',
      help: 'Event streams that are open now',
      registers: this.registers,
      collect(): void {
        this.set(streams.size);
      },
    });
    new Gauge({
      name: 'plinth_dependency_up',
      help: 'Whether the last call of a dependency, or the last probe, was answered: 1 or 0',
      labelNames: ['check'] as const,
      registers: this.registers,
      collect(): void {
        for (const { name, isUp } of dependencies.all()) this.set({ check: name }, isUp ? 1 : 0);
      },
    });
    new Gauge({
      name: 'plinth_database_pool',
      help: 'Connections of the pool, and statements that wait for one',
      labelNames: ['state'] as const,
      registers: this.registers,
      collect(): void {
        for (const [state, connections] of Object.entries(database.poolUse())) {
          this.set({ state }, connections);
        }
      },
    });
    const { leases } = this;
    new Gauge({
      name: 'plinth_leases_expired',
      help: 'Rows that a process works on and whose lease it has not renewed, by kind of work',
      labelNames: ['kind'] as const,
      registers: this.registers,
      async collect(): Promise<void> {
        const reads = [...leases].map(async ([kind, read]) => ({ kind, value: await read() }));
        for (const { kind, value } of await Promise.all(reads)) {
          if (value === undefined) this.remove({ kind });
          else this.set({ kind }, value);
        }
      },
    });
  }

  /** A value that a feature knows: read at every scrape. */
  gauge(name: string, help: string, read: () => Promise<number>): void {
    const value = limited(read);
    new Gauge({
      name,
      help,
      registers: this.registers,
      async collect(): Promise<void> {
        const current = await value();
        if (current === undefined) this.remove();
        else this.set(current);
      },
    });
  }

  /** Counts the expired leases of a kind of work, at every scrape. */
  expiredLeases(kind: string, read: () => Promise<number>): void {
    this.leases.set(kind, limited(read));
  }

  /** Counts one call of a model service, once it is over. */
  upstreamCall(call: UpstreamCall): void {
    const provider = this.providers.value(call.provider);
    const { kind } = call;
    this.upstreamCalls.inc({ provider, kind, outcome: this.outcomes.value(call.outcome) });
    this.upstreamSeconds.observe({ provider, kind }, call.seconds);
  }

  limitReached(measure: string): void {
    this.limitsReached.inc({ measure });
  }

  firstToken(provider: string, seconds: number): void {
    this.firstTokenSeconds.observe({ provider: this.providers.value(provider) }, seconds);
  }

  answered(request: AnsweredRequest): void {
    const { method, route, code } = request;
    this.requests.inc({ method, route, code });
    this.requestSeconds.observe({ route }, request.seconds);
  }

  /** Everything in the text format of Prometheus. */
  text(): Promise<string> {
    return Registry.merge([this.registry, this.process]).metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}

/**
 * Reads a value for a scrape; undefined where it cannot be read within two seconds. Scrapes share a read that is under way, so
 * that a store which is away is asked once.
 */
function limited(read: () => Promise<number>): () => Promise<number | undefined> {
  let reading: Promise<number> | undefined;
  return () => {
    reading ??= read().finally(() => (reading = undefined));
    return withLimit(READ_MS, reading, () => undefined).catch(() => undefined);
  };
}

/** The space of the disk that DATA_DIR is on. */
@Injectable()
export class DiskMetrics {
  constructor(@Inject(CONFIG) { DATA_DIR }: Config, metrics: Metrics) {
    metrics.gauge('plinth_disk_free_bytes', 'Free bytes of the disk of DATA_DIR', async () => {
      const { bavail, bsize } = await statfs(DATA_DIR);
      return bavail * bsize;
    });
    metrics.gauge('plinth_disk_size_bytes', 'Size of the disk of DATA_DIR', async () => {
      const { blocks, bsize } = await statfs(DATA_DIR);
      return blocks * bsize;
    });
  }
}

/** Accepts the first values of a good form and answers `other` for the rest. */
class BoundedLabel {
  private readonly accepted = new Set<string>();

  value(text: string): string {
    const value = text.toLowerCase();
    if (this.accepted.has(value)) return value;
    if (!LABEL_VALUE.test(value) || this.accepted.size >= MAX_LABEL_VALUES) return 'other';
    this.accepted.add(value);
    return value;
  }
}

/** The histogram measures the time between two ticks of a timer of this period, so that the period is part of each value. */
const SAMPLE_MS = 10;

let processRegistry: Registry | undefined;

/** The metrics of this process: prom-client's own, whose observers are never removed, so that they are made only once. */
function processMetrics(): Registry {
  if (processRegistry) return processRegistry;
  const registry = new Registry();
  processRegistry = registry;
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
