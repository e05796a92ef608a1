import { Injectable, Logger } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { KnowledgeContents } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { VectorStores } from '../vector-store/index.js';
import type { VectorScope, VectorStore } from '../vector-store/index.js';
import { FragmentRepository } from './fragment.repository.js';

const LIMIT_MS = 30_000;
const PAGE = 1_000;

type Removal = (store: VectorStore, scope: VectorScope, signal: AbortSignal) => Promise<void>;

/**
 * Removes the vectors of deleted fragments, after the commit. If that fails, the reconciliation removes them later; until
 * then they only take space, because retrieval returns no vector without a fragment.
 */
@Injectable()
export class FragmentVectors {
  private readonly logger = new Logger(FragmentVectors.name);

  constructor(
    private readonly fragments: FragmentRepository,
    private readonly stores: VectorStores,
    private readonly database: Database,
    contents: KnowledgeContents,
  ) {
    contents.join({
      deleting: (_caller, base) => this.removeKnowledge(base),
      // Until a document is parsed again, no vector is better than one of another model.
      reindex: async (_caller, base, before) => {
        if (!this.areShared(base, before)) await this.removePresent(before);
      },
    });
  }

  async removeFragments(knowledge: KnowledgeBase, ids: readonly number[]): Promise<void> {
    await this.afterCommit(knowledge, (store, scope, signal) =>
      store.removeFragments(scope, ids, signal),
    );
  }

  async removeAttachment(knowledge: KnowledgeBase, attachmentId: number): Promise<void> {
    await this.afterCommit(knowledge, (store, scope, signal) =>
      store.removeAttachment(scope, attachmentId, signal),
    );
  }

  async removeKnowledge(knowledge: KnowledgeBase): Promise<void> {
    await this.afterCommit(knowledge, (store, scope, signal) =>
      store.removeKnowledge(scope, signal),
    );
  }

  /** Removes those of fragments that there are now, not those that others make once this is committed. */
  async removePresent(knowledge: KnowledgeBase): Promise<void> {
    const last = await this.fragments.lastId();
    await this.afterCommit(knowledge, async (store, scope, signal) => {
      for (let after = 0; after < last;) {
        const ids = await store.fragmentIds(scope, { after, limit: PAGE }, signal);
        const present = ids.filter((id) => id <= last);
        if (present.length > 0) await store.removeFragments(scope, present, signal);
        after = ids.length < PAGE ? last : (ids.at(-1) ?? last);
      }
    });
  }

  /** Whether vectors that were made and stored by the one record's settings serve the other's. */
  areShared(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      one.embeddingModel === other.embeddingModel &&
      this.stores.of(one.vectorModel).code === this.stores.of(other.vectorModel).code
    );
  }

  private async afterCommit(
    { tenantId, id: knowledgeId, vectorModel }: KnowledgeBase,
    removal: Removal,
  ): Promise<void> {
    await this.database.afterCommit(async () => {
      const scope = { tenantId, knowledgeId };
      try {
        await removal(this.stores.of(vectorModel), scope, AbortSignal.timeout(LIMIT_MS));
      } catch (error) {
        const msg = 'Failed to remove vectors; left for reconciliation';
        this.logger.warn({ msg, ...scope, err: error });
      }
    });
  }
}
