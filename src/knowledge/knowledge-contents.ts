import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

/** The content of knowledge bases, as the features that store it report and remove it. */
export interface KnowledgeParticipant {
  /** The number of documents of each base that the caller may read; a base without documents may be missing. */
  documentCounts?(
    caller: Caller,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>>;
  /** Number of pending removals of vectors per base; bases without any may be missing. */
  pendingRemovals?(
    tenantId: string,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>>;
  /** Whether the base has, or will soon have, vectors of its embedding model, which another model could not search. */
  isIndexed?(tenantId: string, knowledgeId: number): Promise<boolean>;
  /** Parses every document again with the new settings; `before` has the former ones. */
  reindex?(caller: Caller, knowledge: KnowledgeBase, before: KnowledgeBase): Promise<void>;
  /** The names of the agents that no longer pass on the base, which has just ceased to be shared. */
  losing?(caller: Caller, knowledgeId: number): Promise<readonly string[]>;
  /** Locks the content of the bases until the open transaction, which deletes them, ends. */
  holding?(tenantId: string, knowledgeIds: readonly number[]): Promise<void>;
  /**
   * Removes what foreign keys cannot: files, vectors, jobs. Runs in the transaction that deletes the base, when no
   * content can be added any more; what cannot be rolled back is done in afterCommit.
   */
  deleting?(caller: Caller, knowledge: KnowledgeBase): Promise<void>;
}

/** Declared here; features that store content of knowledge bases register themselves. */
@Injectable()
export class KnowledgeContents {
  private readonly participants: KnowledgeParticipant[] = [];

  join(participant: KnowledgeParticipant): void {
    this.participants.push(participant);
  }

  async documentCounts(
    caller: Caller,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>> {
    return this.sums((one) => one.documentCounts?.(caller, knowledgeIds));
  }

  async pendingRemovals(
    tenantId: string,
    knowledgeIds: readonly number[],
  ): Promise<ReadonlyMap<number, number>> {
    return this.sums((one) => one.pendingRemovals?.(tenantId, knowledgeIds));
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

  async losing(caller: Caller, knowledgeId: number): Promise<string[]> {
    const names: string[] = [];
    for (const participant of this.participants) {
      names.push(...((await participant.losing?.(caller, knowledgeId)) ?? []));
    }
    return names;
  }

  async holding(tenantId: string, knowledgeIds: readonly number[]): Promise<void> {
    for (const participant of this.participants) {
      await participant.holding?.(tenantId, knowledgeIds);
    }
  }

  async deleting(caller: Caller, knowledge: KnowledgeBase): Promise<void> {
    for (const participant of this.participants) await participant.deleting?.(caller, knowledge);
  }

  private async sums(
    countsOf: (
      participant: KnowledgeParticipant,
    ) => Promise<ReadonlyMap<number, number>> | undefined,
  ): Promise<ReadonlyMap<number, number>> {
    const sums = new Map<number, number>();
    for (const participant of this.participants) {
      const counts = await countsOf(participant);
      for (const [id, count] of counts ?? []) sums.set(id, (sums.get(id) ?? 0) + count);
    }
    return sums;
  }
}
