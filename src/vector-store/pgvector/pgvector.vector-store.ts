import { Injectable, Logger } from '@nestjs/common';
import { phrase } from '../../platform/message/index.js';
import { orderedHits } from '../ordered-hits.js';
import { RelationalVectorStore } from '../relational/relational.vector-store.js';
import type { VectorHit, VectorQuery, VectorScope } from '../vector-store.js';
import { PgvectorRepository } from './pgvector.repository.js';

/**
 * Vectors in the relational store with the extension pgvector, any version. A search scans all vectors of the base:
 * it is exact, has no limit of dimensions below pgvector's 16,000, and needs no index, whose maintenance costs more
 * than it saves within a base (docs/decisions/0007).
 */
@Injectable()
export class PgvectorVectorStore extends RelationalVectorStore {
  override readonly code = 'pgvector';
  private readonly logger = new Logger(PgvectorVectorStore.name);

  constructor(protected override readonly vectors: PgvectorRepository) {
    super();
  }

  /** Creates the table if it is missing. False when this store cannot run here. */
  async prepare(): Promise<boolean> {
    if (await this.vectors.hasTable()) return true;
    if (!(await this.vectors.isAvailable())) return false;
    try {
      await this.vectors.createTable();
      return true;
    } catch (error) {
      this.logger.warn({
        msg: 'Failed to create the extension vector, the exact store is used instead; a superuser can run CREATE EXTENSION vector',
        err: error,
      });
      return false;
    }
  }

  override async search(
    scope: VectorScope,
    query: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]> {
    return this.call(phrase`search vectors`, signal, async () =>
      orderedHits(await this.vectors.nearest(scope, query), query),
    );
  }
}
