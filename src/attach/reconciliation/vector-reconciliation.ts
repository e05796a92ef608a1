import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, isOutage, withLongStatements } from '../../platform/database/index.js';
import { FragmentService } from '../../fragment/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import { Installation } from '../../platform/storage/index.js';
import { VectorStoreError, VectorStores } from '../../vector-store/index.js';
import type { VectorScope, VectorStore } from '../../vector-store/index.js';
import { LostVectors } from '../parsing/lost-vectors.js';
import type { IndexedBase } from '../parsing/vectors.repository.js';
import { VectorHomes } from '../parsing/vector-homes.js';
import { ReconciliationRepository } from './reconciliation.repository.js';

const ROUND_INTERVAL_MS = 3_600_000;

const PAGE = 1_000;

/**
 * Compares vectors and fragments in both directions: LostVectors has fragments without a vector embedded again, and this
 * removes vectors without a fragment: what a process leaves that dies between the two stores, and what a vector store
 * kept that was unavailable when documents were deleted. Retrieval never returns them, because it joins the
 * fragments; they only take space. Nothing is removed while the database may be a copy (Installation). How many were found last and removed in all are metrics.
 */
@Injectable()
export class VectorReconciliation implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(VectorReconciliation.name);
  private readonly stopping = new AbortController();
  private rounds: IntervalJob | undefined;
  private assigning: Promise<void> | undefined;
  private lastOrphanCount = 0;
  private removed = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly stores: VectorStores,
    private readonly fragments: FragmentService,
    private readonly repository: ReconciliationRepository,
    private readonly installation: Installation,
    private readonly lost: LostVectors,
    private readonly homes: VectorHomes,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'plinth_orphan_vectors',
      'Vectors without a fragment that the last round found',
      () => Promise.resolve(this.lastOrphanCount),
    );
    metrics.gauge('plinth_orphan_vectors_removed', 'Those that this process has removed', () =>
      Promise.resolve(this.removed),
    );
  }

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.rounds = new IntervalJob(ROUND_INTERVAL_MS, () => this.reconcileAndLog());
    this.assigning = this.assignStores();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.rounds?.stop();
    await this.assigning;
  }

  /** One round over every store; answers how many vectors without a fragment it found and removed. */
  async reconcile(): Promise<number> {
    // Another database may use the same vector store, as it may use the same files.
    if ((await this.installation.uncertainty()) !== undefined) return 0;
    const { signal } = this.stopping;
    let orphanCount = 0;
    for (const store of this.stores.all()) {
      for (const scope of await store.scopes(signal)) {
        if (signal.aborted) return orphanCount;
        orphanCount += await this.checked(scope, () => this.reconcileScope(store, scope));
      }
    }
    this.lastOrphanCount = orphanCount;
    this.removed += orphanCount;
    await this.findLost();
    // The embedded store has one connection, which building an index would block for minutes.
    if (this.config.DATABASE_URL !== undefined) {
      for (const store of this.stores.all()) await store.maintain();
    }
    return orphanCount;
  }

  private async findLost(): Promise<void> {
    const { signal } = this.stopping;
    for await (const base of this.bases()) {
      await this.checked(base, () => this.lost.find(base, signal));
    }
  }

  /** Records where the vectors of bases of earlier releases are, and logs what another QDRANT_URL has left in its place. */
  private async assignStores(): Promise<void> {
    const { signal } = this.stopping;
    try {
      for await (const base of this.bases()) {
        if (base.vectorStore !== null) continue;
        await inTenant(base.tenantId, () => this.homes.assignStore(base, base, signal));
      }
      if (!signal.aborted) await this.homes.report();
    } catch (error) {
      if (signal.aborted || isOutage(error)) return;
      this.logger.warn({ msg: 'Failed to determine the stores of knowledge bases', err: error });
    }
  }

  /** Iterates over the bases until the process stops. */
  private async *bases(): AsyncGenerator<IndexedBase> {
    for (let after = 0; ;) {
      const page = await this.lost.basesAfter(after);
      for (const base of page) {
        if (this.stopping.signal.aborted) return;
        yield base;
      }
      const last = page.at(-1);
      if (!last) return;
      after = last.knowledgeId;
    }
  }

  /**
   * Result of the work on one base; 0 when the store refuses a call for it, so that the round goes on with the next.
   */
  private async checked(scope: VectorScope, work: () => Promise<number>): Promise<number> {
    const { tenantId, knowledgeId } = scope;
    try {
      return await inTenant(tenantId, work);
    } catch (error) {
      if (!(error instanceof VectorStoreError)) throw error;
      const msg = 'Failed to reconcile the vectors of a knowledge base';
      this.logger.warn({ msg, tenantId, knowledgeId, err: error });
      return 0;
    }
  }

  private async reconcileScope(
    store: VectorStore,
    scope: VectorScope & { readonly count: number },
  ): Promise<number> {
    const { signal } = this.stopping;
    // The order matters: ids reserved after the sequence is read are not checked, and those reserved before it without
    // a commit have a lease.
    const last = await this.fragments.lastId();
    if (await this.lost.isBeingParsed(scope)) return 0;
    const base = await this.homes.find(scope);
    if (!base) {
      await store.removeKnowledge(scope, signal);
      return scope.count;
    }
    // Vectors that a move to another store left behind.
    const isElsewhere = base.vectorStore !== null && base.vectorStore !== store.code;
    let orphanCount = 0;
    let after = 0;
    for (;;) {
      const ids = await store.fragmentIds(scope, { after, limit: PAGE }, signal);
      const candidates = ids.filter((id) => id <= last);
      const orphans = isElsewhere ? candidates : await this.repository.missing(scope, candidates);
      if (orphans.length > 0) await store.removeFragments(scope, orphans, signal);
      orphanCount += orphans.length;
      after = ids.at(-1) ?? after;
      if (ids.length < PAGE) return orphanCount;
    }
  }

  private async reconcileAndLog(): Promise<void> {
    try {
      const removed = await withLongStatements(() => this.reconcile());
      if (removed > 0) this.logger.log({ msg: 'Orphan vectors removed', removed });
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      // The next round tries again.
      this.logger.warn({ msg: 'Failed to reconcile vectors', err: error });
    }
  }
}
