import { performance } from 'node:perf_hooks';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { REDIS } from '../event/index.js';
import { OutboundHttp } from '../outbound/index.js';
import { decimal, object, oneOf, optional, schema, text, View } from '../http/index.js';
import { HealthRepository } from './health.repository.js';
import { Shutdown } from './shutdown.js';

const LIMIT_MS = 2_000;

type CheckStatus = 'up' | 'down';

export class LiveView extends View({
  status: schema<'up'>({ type: String, example: 'up' }),
}) {}

class CheckView extends View({
  status: oneOf<CheckStatus>(['up', 'down']),
  kind: text({ description: 'What does the work in this installation', example: 'embedded' }),
  latencyMs: optional(decimal({ description: 'Absent when nothing had to be asked' })),
}) {}

class ChecksView extends View({
  store: object(CheckView, { description: 'kind: embedded or postgresql' }),
  queue: object(CheckView, { description: 'kind: in process or redis' }),
  vectorStore: object(CheckView, { description: 'kind: pgvector, qdrant or exact' }),
}) {}

export class ReadyView extends View({
  status: oneOf<CheckStatus | 'stopping'>(['up', 'down', 'stopping']),
  checks: object(ChecksView),
}) {}

/** All that is needed of the Redis connection. */
interface Pingable {
  ping(): Promise<unknown>;
}

/** Whether this process is ready: checks everything it depends on. The answer is public, so it holds neither address nor cause. */
@Injectable()
export class HealthService implements OnApplicationShutdown {
  private readonly logger = new Logger(HealthService.name);
  private readonly last = new Map<string, CheckStatus>();
  private running: Promise<ReadyView['checks']> | undefined;
  /** Which relational store holds the vectors without Qdrant, as last seen. */
  private relationalVectors = 'exact';
  /** The operator sets the address of Qdrant, so that it may be a private one. */
  private readonly http = new OutboundHttp({ allowedPrivateHosts: ['*'] });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(REDIS) private readonly redis: Pingable | undefined,
    private readonly repository: HealthRepository,
    private readonly shutdown: Shutdown,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }

  async ready(): Promise<ReadyView> {
    // Concurrent probes share one check, so that this public route cannot load the stores.
    this.running ??= this.checkAll().finally(() => (this.running = undefined));
    const checks = await this.running;
    const up = [checks.store, checks.queue, checks.vectorStore].every(
      ({ status }) => status === 'up',
    );
    return { status: this.shutdown.stopping ? 'stopping' : up ? 'up' : 'down', checks };
  }

  private async checkAll(): Promise<ReadyView['checks']> {
    const [store, queue, vectorStore] = await Promise.all([
      this.timed('store', this.config.embedded ? 'embedded' : 'postgresql', () =>
        this.repository.ping(),
      ),
      this.queue(),
      this.vectorStore(),
    ]);
    return { store, queue, vectorStore };
  }

  private async queue(): Promise<CheckView> {
    const { redis } = this;
    if (!redis) return { status: 'up', kind: 'in process' };
    return this.timed('queue', 'redis', () => redis.ping());
  }

  private async vectorStore(): Promise<CheckView> {
    const url = this.config.QDRANT_URL;
    if (url !== undefined) return this.timed('vectorStore', 'qdrant', () => this.askQdrant(url));
    const check = await this.timed('vectorStore', this.relationalVectors, async () => {
      const own = await this.repository.hasVectorExtension();
      this.relationalVectors = own ? 'pgvector' : 'exact';
    });
    return { ...check, kind: this.relationalVectors };
  }

  private async askQdrant(url: string): Promise<void> {
    const key = this.config.QDRANT_API_KEY;
    const address = new URL('readyz', url.replace(/\/*$/, '/'));
    const response = await this.http.request(address.href, {
      method: 'GET',
      headers: { ...(key !== undefined && { 'api-key': key }) },
      signal: AbortSignal.timeout(LIMIT_MS),
      timeouts: { connectMs: LIMIT_MS, idleMs: LIMIT_MS, totalMs: LIMIT_MS },
    });
    response.discard();
    if (response.status !== 200) throw new Error(`Qdrant answered HTTP ${response.status}.`);
  }

  private async timed(name: string, kind: string, ask: () => Promise<unknown>): Promise<CheckView> {
    const began = performance.now();
    try {
      await withinLimit(ask());
      this.note(name, 'up');
      return { status: 'up', kind, latencyMs: sinceMs(began) };
    } catch (error) {
      this.note(name, 'down', error);
      return { status: 'down', kind, latencyMs: sinceMs(began) };
    }
  }

  /** Logs a change of state once, however often the check runs. */
  private note(check: string, status: CheckStatus, error?: unknown): void {
    const before = this.last.get(check) ?? 'up';
    this.last.set(check, status);
    if (before === status) return;
    if (status === 'up') this.logger.log({ msg: 'Dependency recovered', check });
    else this.logger.warn({ msg: 'Dependency unavailable', check, err: error });
  }
}

async function withinLimit(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${LIMIT_MS} ms.`)), LIMIT_MS);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function sinceMs(began: number): number {
  return Math.round((performance.now() - began) * 10) / 10;
}
