import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database, inTenant, isOutage } from '../platform/database/index.js';
import { KnowledgeContents } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import { VectorStores } from '../vector-store/index.js';
import type { VectorStore } from '../vector-store/index.js';
import { VectorRemovalRepository } from './vector-removal.repository.js';
import type { ClaimedRemoval, RemovalTarget } from './vector-removal.repository.js';
import { FragmentRepository } from './fragment.repository.js';

const LIMIT_MS = 30_000;
/** Duration of a claim: the time limit of an attempt, and time to record its result. */
const CLAIM_SECONDS = 60;
const SWEEP_MS = 5_000;
const SWEPT_AT_ONCE = 100;
const PAGE = 1_000;

/**
 * Removes the vectors of what a transaction deletes. The transaction stores a row, the removal follows its commit, and the
 * row goes when nothing is left. A removal that the store refuses, or that its process did not survive, is tried again
 * until then, at growing intervals of up to ten minutes; the base shows how many wait (`vectorRemovals`). Retrieval returns
 * no vector without a fragment, so what waits only takes space.
 */
@Injectable()
export class VectorRemovals implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(VectorRemovals.name);
  private sweeps: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly stores: VectorStores,
    private readonly repository: VectorRemovalRepository,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'plinth_vector_removals_waiting',
      'Removals of vectors that their store has not carried out yet',
      () => repository.count(),
    );
  }

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.sweeps = new IntervalJob(SWEEP_MS, (stopping) => this.sweep(stopping));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

  /** Removes the vectors after the commit of the open transaction. Does not fail because of the store. */
  async request(knowledge: KnowledgeBase, target: RemovalTarget): Promise<void> {
    const { tenantId, id: knowledgeId } = knowledge;
    const { code } = this.stores.of(knowledge);
    const scope = { tenantId, knowledgeId };
    const removal = await this.repository.insert(scope, code, target, CLAIM_SECONDS);
    await this.database.afterCommit(() => this.attempt(removal));
  }

  /** Number of pending removals per base; bases without any are missing. */
  async counts(tenantId: string, knowledgeIds: readonly number[]): Promise<Map<number, number>> {
    return this.repository.counts(tenantId, knowledgeIds);
  }

  /** Tries the removals that are due, up to a hundred of them. */
  async retryDue(stopping: AbortSignal): Promise<void> {
    for (const { id, tenantId } of await this.repository.due(SWEPT_AT_ONCE)) {
      if (stopping.aborted) return;
      await inTenant(tenantId, async () => {
        const removal = await this.repository.claim(tenantId, id, CLAIM_SECONDS);
        if (removal) await this.attempt(removal, stopping);
      });
    }
  }

  private async sweep(stopping: AbortSignal): Promise<void> {
    try {
      await this.retryDue(stopping);
    } catch (error) {
      // The next sweep tries again.
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to remove vectors', err: error });
    }
  }

  private async attempt(removal: ClaimedRemoval, stopping?: AbortSignal): Promise<void> {
    const { tenantId, knowledgeId, store: code, attempts } = removal;
    const about = { tenantId, knowledgeId, store: code };
    const limit = AbortSignal.timeout(LIMIT_MS);
    const signal = stopping ? AbortSignal.any([stopping, limit]) : limit;
    try {
      const store = this.stores.withCode(code);
      if (!store) throw new Error(`This process does not run the vector store ${code}.`);
      await remove(store, removal, signal);
    } catch (error) {
      // Another process continues when the claim is over.
      if (stopping?.aborted) return;
      if (attempts === 0) {
        const msg = 'Failed to remove vectors; the removal is retried';
        this.logger.warn({ msg, ...about, err: error });
      }
      await this.recorded(this.repository.postpone(removal));
      return;
    }
    await this.recorded(this.repository.remove(removal));
    if (attempts > 0) this.logger.log({ msg: 'Vectors removed', ...about, attempts: attempts + 1 });
  }

  /** A change that cannot be recorded is repeated when the claim expires. */
  private async recorded(change: Promise<void>): Promise<void> {
    try {
      await change;
    } catch (error) {
      if (isOutage(error)) return;
      this.logger.warn({ msg: 'Failed to record a removal of vectors', err: error });
    }
  }
}

async function remove(
  store: VectorStore,
  { tenantId, knowledgeId, attachmentId, fragmentIds, upTo }: ClaimedRemoval,
  signal: AbortSignal,
): Promise<void> {
  const scope = { tenantId, knowledgeId };
  if (attachmentId !== null) return store.removeAttachment(scope, attachmentId, signal);
  if (fragmentIds !== null) return store.removeFragments(scope, fragmentIds.map(Number), signal);
  if (upTo === null) return store.removeKnowledge(scope, signal);
  for (let after = 0; after < upTo;) {
    const ids = await store.fragmentIds(scope, { after, limit: PAGE }, signal);
    const present = ids.filter((id) => id <= upTo);
    if (present.length > 0) await store.removeFragments(scope, present, signal);
    after = ids.length < PAGE ? upTo : (ids.at(-1) ?? upTo);
  }
}

/** The vectors of fragments that are deleted. Every method belongs into the transaction that deletes them. */
@Injectable()
export class FragmentVectors {
  constructor(
    private readonly fragments: FragmentRepository,
    private readonly stores: VectorStores,
    private readonly removals: VectorRemovals,
    contents: KnowledgeContents,
  ) {
    contents.join({
      deleting: (_caller, base) => this.removeKnowledge(base),
      // Missing vectors are better than those of another model until the documents are parsed again.
      reindex: async (_caller, base, before) => {
        if (!this.areShared(base, before)) await this.removePresent(before);
      },
      pendingRemovals: (tenantId, ids) => removals.counts(tenantId, ids),
    });
  }

  async removeFragments(knowledge: KnowledgeBase, ids: readonly number[]): Promise<void> {
    await this.removals.request(knowledge, { fragmentIds: ids });
  }

  async removeAttachment(knowledge: KnowledgeBase, attachmentId: number): Promise<void> {
    await this.removals.request(knowledge, { attachmentId });
  }

  async removeKnowledge(knowledge: KnowledgeBase): Promise<void> {
    await this.removals.request(knowledge, {});
  }

  /** Removes those of fragments that there are now, not those that others make once this is committed. */
  async removePresent(knowledge: KnowledgeBase): Promise<void> {
    await this.removals.request(knowledge, { upTo: await this.fragments.lastId() });
  }

  /** Whether vectors made and stored with the settings of one record can serve the other. */
  areShared(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      one.embeddingModel === other.embeddingModel &&
      this.stores.of(one).code === this.stores.of(other).code
    );
  }
}
