import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

/** What a knowledge base holds, as the features below it tell and remove it. */
export interface KnowledgeParticipant {
  /** How many documents each of the bases holds; a base without any may be missing. */
  documentCounts?(
    tenantId: string,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>>;
  /** Whether the base holds vectors of its present embedding model, or is about to, so that another cannot read them. */
  isIndexed?(tenantId: string, knowledgeId: number): Promise<boolean>;
  /** Parses every document anew, with the settings as they are from now on; `before` has those until now. */
  reindex?(caller: Caller, knowledge: KnowledgeBase, before: KnowledgeBase): Promise<void>;
  /** Holds what is in the bases against changes until the open transaction ends, in which they are deleted. */
  holding?(tenantId: string, knowledgeIds: readonly number[]): Promise<void>;
  /**
   * Removes what foreign keys cannot: files, vectors, jobs. Runs in the transaction that deletes the base, when
   * nobody can add to it any more; whatever cannot be rolled back is left to afterCommit.
   */
  deleting?(caller: Caller, knowledge: KnowledgeBase): Promise<void>;
}

/** Declared here, joined by the features that hold the content of knowledge bases. */
@Injectable()
export class KnowledgeContents {
  private readonly participants: KnowledgeParticipant[] = [];

  join(participant: KnowledgeParticipant): void {
    this.participants.push(participant);
  }

  async documentCounts(
    tenantId: string,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>> {
    const sums = new Map<number, number>();
    for (const participant of this.participants) {
      const counts = await participant.documentCounts?.(tenantId, knowledgeIds);
      for (const [id, count] of counts ?? []) sums.set(id, (sums.get(id) ?? 0) + count);
    }
    return sums;
  }

  async isIndexed(tenantId: string, knowledgeId: number): Promise<boolean> {
    for (const participant of this.participants) {
      if (await participant.isIndexed?.(tenantId, knowledgeId)) return true;
    }
    return false;
  }

  async reindex(caller: Caller, knowledge: KnowledgeBase, before: KnowledgeBase): Promise<void> {
    for (const participant of this.participants) {
      await participant.reindex?.(caller, knowledge, before);
    }
  }

  async holding(tenantId: string, knowledgeIds: readonly number[]): Promise<void> {
    for (const participant of this.participants) {
      await participant.holding?.(tenantId, knowledgeIds);
    }
  }

  async deleting(caller: Caller, knowledge: KnowledgeBase): Promise<void> {
    for (const participant of this.participants) await participant.deleting?.(caller, knowledge);
  }
}
