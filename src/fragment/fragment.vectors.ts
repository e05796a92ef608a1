import { Injectable } from '@nestjs/common';
import { KnowledgeContents } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { VectorStores } from '../vector-store/index.js';
import { FragmentRepository } from './fragment.repository.js';
import { VectorRemovals } from './vector-removals.js';

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
      // Until a document is parsed again, no vector is better than one of another model.
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

  /** Whether vectors that were made and stored by the one record's settings serve the other's. */
  areShared(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return (
      one.embeddingModel === other.embeddingModel &&
      this.stores.of(one).code === this.stores.of(other).code
    );
  }
}
