import { performance } from 'node:perf_hooks';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Dependencies, withLimit } from '../dependency/index.js';
import type { Dependency } from '../dependency/index.js';
import { SharedRedis } from '../redis/index.js';
import { decimal, object, oneOf, optional, schema, text, View } from '../http/index.js';
import { english } from '../message/index.js';
import type { Message } from '../message/index.js';
import { HealthRepository } from './health.repository.js';
import { Shutdown } from './shutdown.js';

const LIMIT_MS = 2_000;

type CheckStatus = 'up' | 'degraded' | 'down';

export class LiveView extends View({
  status: schema<'up'>({ type: String, example: 'up' }),
}) {}

class CheckView extends View({
  status: oneOf<CheckStatus>(['up', 'degraded', 'down'], {
    description:
      'degraded: it does not answer, or refuses a part of its work, and the process works without it',
  }),
  kind: text({ description: 'What does the work in this installation', example: 'embedded' }),
  latencyMs: optional(decimal({ description: 'Absent when nothing had to be asked' })),
  reason: optional(
    text({
      description:
        'Why it is degraded or down, where that is known, or what an administrator should do',
      example: 'The disk of the database is full.',
    }),
  ),
}) {}

class ChecksView extends View({
  store: object(CheckView, { description: 'kind: embedded or postgresql' }),
  queue: object(CheckView, { description: 'kind: in process or redis' }),
  vectorStore: object(CheckView, { description: 'kind: pgvector, qdrant or exact' }),
  files: object(CheckView, { description: 'kind: local or s3' }),
}) {}

export class ReadyView extends View({
  status: oneOf<CheckStatus | 'stopping'>(['up', 'degraded', 'down', 'stopping'], {
    description: 'HTTP 200 with up and degraded, else 503',
  }),
  checks: object(ChecksView),
}) {}

/** A notice about the vector store for administrators; `isLimited` when a part of it cannot be searched. */
export interface VectorNotice {
  readonly reason: Message;
  readonly isLimited: boolean;
}

/** Whether this process is ready: checks everything it depends on. The answer is public, so it holds no address and no text of another server. */
@Injectable()
export class HealthService {
  private running: Promise<ReadyView['checks']> | undefined;
  private vectorStore = 'exact';
  private vectorNotice: () => Promise<VectorNotice | undefined> = () => Promise.resolve(undefined);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly redis: SharedRedis,
    private readonly dependencies: Dependencies,
    private readonly repository: HealthRepository,
    private readonly shutdown: Shutdown,
  ) {}

  /** Sets the kind of the vector store that this process uses by default. */
  setVectorStore(kind: string): void {
    this.vectorStore = kind;
  }

  /** Adds to the check of the vector store what the given function says, unless the store itself is away. */
  noteVectorStore(notice: () => Promise<VectorNotice | undefined>): void {
    this.vectorNotice = notice;
  }

  async ready(): Promise<ReadyView> {
    // Concurrent probes share one check, so that this public route cannot load the stores.
    this.running ??= this.checkAll().finally(() => (this.running = undefined));
    const checks = await this.running;
    const { store, queue, vectorStore, files } = checks;
    const statuses = [store, queue, vectorStore, files].map(({ status }) => status);
    const worst = (['down', 'degraded'] as const).find((status) => statuses.includes(status));
    return { status: this.shutdown.stopping ? 'stopping' : (worst ?? 'up'), checks };
  }

  private async checkAll(): Promise<ReadyView['checks']> {
    const [store, queue, qdrant] = await Promise.all([this.store(), this.queue(), this.qdrant()]);
    const vectorStore = qdrant ?? { ...store, kind: this.vectorStore };
    return {
      store,
      queue,
      vectorStore: await this.withNotice(vectorStore, store),
      files: this.files(),
    };
  }

  /** What the last call or probe of the files has shown. Without them everything else works, so that their loss takes no process out of service. */
  private files(): CheckView {
    const kind = this.config.STORAGE_URL ? 's3' : 'local';
    return { ...stateOf(this.dependencies.of('files')), kind };
  }

  private async withNotice(vectorStore: CheckView, store: CheckView): Promise<CheckView> {
    if (vectorStore.status !== 'up' || store.status === 'down') return vectorStore;
    const notice = await withLimit(LIMIT_MS, this.vectorNotice(), () => undefined).catch(
      () => undefined,
    );
    if (!notice) return vectorStore;
    const { reason, isLimited } = notice;
    return { ...vectorStore, reason: english(reason), ...(isLimited && { status: 'degraded' }) };
  }

  private async store(): Promise<CheckView> {
    const kind = this.config.embedded ? 'embedded' : 'postgresql';
    const began = performance.now();
    const dependency = this.dependencies.of('store');
    try {
      await withLimit(LIMIT_MS, this.repository.probe(LIMIT_MS), () => {
        throw new Error(`No answer within ${LIMIT_MS} ms.`);
      });
      dependency.succeeded(began);
      return { ...stateOf(dependency), kind, latencyMs: sinceMs(began) };
    } catch (error) {
      dependency.failed(error, began);
      return { status: 'down', kind, latencyMs: sinceMs(began) };
    }
  }

  /** Checks Redis. Each process can work without it, so its loss takes no process out of service. */
  private async queue(): Promise<CheckView> {
    if (!this.redis.isConfigured) return { status: 'up', kind: 'in process' };
    const began = performance.now();
    const isUp = await this.redis.ping();
    return { status: isUp ? 'up' : 'degraded', kind: 'redis', latencyMs: sinceMs(began) };
  }

  /**
   * Checks Qdrant; undefined without it, because the relational store then holds the vectors. Only search in knowledge bases needs Qdrant, so
   * that its loss takes no process out of service.
   */
  private async qdrant(): Promise<CheckView | undefined> {
    if (this.config.QDRANT_URL === undefined) return undefined;
    const dependency = this.dependencies.of('vectorStore');
    const began = performance.now();
    await dependency.check();
    return { ...stateOf(dependency), kind: 'qdrant', latencyMs: sinceMs(began) };
  }
}

function stateOf({ isUp, isLimited, reason }: Dependency): Pick<CheckView, 'status' | 'reason'> {
  const status = isUp && !isLimited ? 'up' : 'degraded';
  return { status, ...(reason && { reason: english(reason) }) };
}

function sinceMs(began: number): number {
  return Math.round((performance.now() - began) * 10) / 10;
}
