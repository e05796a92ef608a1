import { Injectable } from '@nestjs/common';
import type { KnowledgeBase } from '../knowledge/index.js';
import { FragmentRepository } from './fragment.repository.js';
import { FragmentVectors } from './fragment.vectors.js';
import { KeywordIndex } from './keyword/keyword-index.js';
import type { DocumentScope, NewFragment } from './new-fragment.js';

/** The fragments of documents as parsing makes and deletion removes them: always the whole set of a document. */
@Injectable()
export class FragmentService {
  constructor(
    private readonly fragments: FragmentRepository,
    private readonly keywords: KeywordIndex,
    private readonly vectors: FragmentVectors,
  ) {}

  /** Ids for fragments and their vectors, ascending, before either is written. */
  async reserveIds(count: number): Promise<number[]> {
    return this.fragments.reserveIds(count);
  }

  /** The highest id that was reserved so far; those after it belong to work that began later. */
  async lastId(): Promise<number> {
    return this.fragments.lastId();
  }

  /**
   * Replaces the fragments and keyword postings of a document. Call it in a transaction that has locked the document's
   * row; vectors are the caller's.
   */
  async replaceAll(scope: DocumentScope, fragments: readonly NewFragment[]): Promise<void> {
    await this.fragments.insertAll(scope, fragments);
    await this.keywords.replaceAttachment(
      scope,
      fragments.map(({ id, analysed }) => ({ fragmentId: id, analysed })),
    );
    await this.fragments.removeOthers(
      scope,
      fragments.map(({ id }) => id),
    );
  }

  /** Call it directly after the rows of several documents are locked, before the first `removeOf`. */
  async hold(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.keywords.hold(tenantId, attachmentIds);
  }

  /**
   * Removes what a document has in the keyword index now, and its vectors once the open transaction is committed. Call
   * it before its row is deleted, which takes the fragments along.
   */
  async removeOf(knowledge: KnowledgeBase, attachmentId: number): Promise<void> {
    const { tenantId, id: knowledgeId } = knowledge;
    await this.keywords.removeAttachment({ tenantId, knowledgeId, attachmentId });
    await this.vectors.removeAttachment(knowledge, attachmentId);
  }

  /** Whether vectors that were made and stored by the one record's settings serve the other's. */
  areVectorsShared(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return this.vectors.areShared(one, other);
  }

  /** How many fragments of the documents were written by hand and are lost when they are parsed again. */
  async countEdited(tenantId: string, attachmentIds: readonly number[]): Promise<number> {
    return attachmentIds.length === 0 ? 0 : this.fragments.countEdited(tenantId, attachmentIds);
  }
}
