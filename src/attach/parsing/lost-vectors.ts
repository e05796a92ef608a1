import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../../platform/database/index.js';
import { FragmentService } from '../../fragment/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { Installation } from '../../platform/storage/index.js';
import { VectorStores } from '../../vector-store/index.js';
import type { VectorScope } from '../../vector-store/index.js';
import { LostVectorsRepository } from './vectors.repository.js';
import type { IndexedBase } from './vectors.repository.js';
import { ParsingQueue } from './parsing.queue.js';
import { VectorHomes } from './vector-homes.js';

const PAGE = 1_000;
/** Jobs that are added at once; the sweep of waiting documents adds those of the others. */
const JOBS = 500;
/** Interval between checks of a base in which a search found no vector. */
const AGAIN_MS = 30_000;
const BASES = 1_000;

/**
 * Vectors of parsed documents that their store does not have any more, such as after the loss of a Qdrant collection. The
 * base is marked (`vectorsLostAt`) until they are there again; the documents are embedded again by the parsing queue, from
 * their fragments. Fragments that were written by hand need not have a vector and are not missed, but get one with their
 * document.
 */
@Injectable()
export class LostVectors {
  private readonly logger = new Logger(LostVectors.name);
  private readonly complete = new LRUCache<number, true>({ max: BASES, ttl: AGAIN_MS });

  constructor(
    private readonly database: Database,
    private readonly stores: VectorStores,
    private readonly fragments: FragmentService,
    private readonly knowledge: KnowledgeService,
    private readonly repository: LostVectorsRepository,
    private readonly parsing: ParsingQueue,
    private readonly homes: VectorHomes,
    private readonly installation: Installation,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'plinth_bases_without_vectors',
      'Knowledge bases of which vectors were lost and are not all made again yet',
      () => repository.countMarked(),
    );
  }

  /** A page of the bases of all tenants that are searched by vectors, by id. */
  async basesAfter(knowledgeId: number): Promise<IndexedBase[]> {
    return this.repository.indexedBases(knowledgeId, PAGE);
  }

  /** Whether a worker may have vectors in the store whose fragments are not committed yet. */
  async isBeingParsed(scope: VectorScope): Promise<boolean> {
    return this.repository.isBeingParsed(scope);
  }

  /**
   * Compares a base with its store, and asks for the vectors that are missing. Returns the number of documents that are
   * embedded again. A base of which a document is being parsed is left out.
   */
  async find(base: IndexedBase, signal: AbortSignal): Promise<number> {
    const scope = { tenantId: base.tenantId, knowledgeId: base.knowledgeId };
    const home = await this.homes.assignStore(scope, base, signal);
    const store = this.stores.withCode(home);
    // The vectors may still exist; nothing is embedded again without a request.
    if (!store) return 0;
    // The order is that of VectorReconciliation.
    const last = await this.fragments.lastId();
    if (await this.repository.isBeingParsed(scope)) return 0;
    const stored = await store.count(scope, undefined, signal);
    let documents = 0;
    if (stored < (await this.repository.countFragments(scope))) {
      for (let after = 0; after < last;) {
        const fragmentIds = await store.fragmentIds(scope, { after, limit: PAGE }, signal);
        const end = fragmentIds.length < PAGE ? last : (fragmentIds.at(-1) ?? last);
        const upTo = Math.min(end, last);
        documents += await this.request(scope, { after, upTo, fragmentIds });
        after = upTo;
      }
    }
    if (documents === 0) await this.clear(scope);
    return documents;
  }

  /**
   * Determines whether the vectors of a base in which a search found none are lost. Does not reject; checks a base at
   * most every 30 seconds.
   */
  async explainEmpty(knowledge: KnowledgeBase): Promise<boolean> {
    const { id: knowledgeId, tenantId, vectorModel, vectorStore } = knowledge;
    if (this.complete.has(knowledgeId)) return false;
    this.complete.set(knowledgeId, true);
    const scope = { tenantId, knowledgeId };
    const signal = AbortSignal.timeout(AGAIN_MS);
    try {
      if (!(await this.repository.expectsVectors(scope))) return false;
      if ((await this.stores.of(knowledge).count(scope, undefined, signal)) > 0) return false;
      // Another database may use the same vector store: its vectors are not written over.
      if ((await this.installation.uncertainty()) !== undefined) return false;
      return (await this.find({ ...scope, vectorModel, vectorStore }, signal)) > 0;
    } catch (error) {
      this.logger.warn({ msg: 'Failed to look for lost vectors', ...scope, err: error });
      return false;
    }
  }

  /** Removes the mark of the base unless vectors are still to be made. */
  async clear(scope: VectorScope): Promise<void> {
    if (!(await this.repository.clear(scope))) return;
    this.logger.log({ msg: 'Vectors restored', ...scope });
  }

  private async request(
    scope: VectorScope,
    range: Parameters<LostVectorsRepository['requestMissing']>[1],
  ): Promise<number> {
    const { tenantId, knowledgeId } = scope;
    return this.database.transaction(async () => {
      if (!(await this.knowledge.lock(tenantId, knowledgeId))) return 0;
      const lost = await this.repository.requestMissing(scope, range);
      if (lost.length === 0) return 0;
      const isNew = await this.repository.mark(scope);
      await this.database.afterCommit(async () => {
        if (isNew) {
          const msg = 'Vectors lost; their documents are embedded again';
          this.logger.warn({ msg, ...scope, documents: lost.length });
        }
        for (const document of lost.slice(0, JOBS)) await this.parsing.announce(document);
      });
      return lost.length;
    });
  }
}
