import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import type { StoreOfBase, VectorScope } from '../../vector-store/index.js';
import { msg } from '../../platform/message/index.js';
import { AttachmentStatus } from '../attachment.entity.js';
import { WAITING } from './parsing.repository.js';
import type { WaitingDocument } from './parsing.repository.js';

/** A home and the vectorModel of bases that have it. */
interface HomePair {
  readonly vectorModel: string;
  readonly vectorStore: string;
}

/** Records of the stores that hold the vectors of knowledge bases. */
@Injectable()
export class VectorHomesRepository {
  constructor(private readonly database: Database) {}

  async hasFragments({ tenantId, knowledgeId }: VectorScope): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT id FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2 LIMIT 1',
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  /** Changes the home unless another process or a change of the base was first. */
  async save(
    { tenantId, knowledgeId }: VectorScope,
    vectorStore: string,
    before: string | null,
  ): Promise<void> {
    await this.database.query(
      `UPDATE knowledge_base SET vector_store = $3
        WHERE tenant_id = $1 AND id = $2 AND vector_store IS NOT DISTINCT FROM $4`,
      [tenantId, knowledgeId, vectorStore, before],
    );
  }

  /** The stores of the base as they are now; undefined for one that was deleted. */
  async find({ tenantId, knowledgeId }: VectorScope): Promise<StoreOfBase | undefined> {
    const [row] = await this.database.query<StoreOfBase>(
      `SELECT vector_model AS "vectorModel", vector_store AS "vectorStore"
         FROM knowledge_base WHERE tenant_id = $1 AND id = $2`,
      [tenantId, knowledgeId],
    );
    return row;
  }

  /** All pairs that bases of any tenant have. */
  async pairs(): Promise<HomePair[]> {
    return acrossTenants('bases by vector store', () =>
      this.database.query<HomePair>(
        `SELECT DISTINCT vector_model AS "vectorModel", vector_store AS "vectorStore"
           FROM knowledge_base WHERE vector_store IS NOT NULL`,
      ),
    );
  }

  /** Number of bases with fragments for each pair. */
  async countBases(pairs: readonly HomePair[]): Promise<(HomePair & { readonly bases: number })[]> {
    return acrossTenants('bases by vector store', () =>
      this.database.query<HomePair & { readonly bases: number }>(
        `SELECT pair.model AS "vectorModel", pair.store AS "vectorStore", count(*) AS bases
           FROM unnest($1::text[], $2::text[]) AS pair (model, store)
           JOIN knowledge_base b ON b.vector_model = pair.model AND b.vector_store = pair.store
          WHERE EXISTS (SELECT FROM fragment f WHERE f.tenant_id = b.tenant_id AND f.knowledge_id = b.id)
          GROUP BY pair.model, pair.store`,
        [pairs.map(({ vectorModel }) => vectorModel), pairs.map(({ vectorStore }) => vectorStore)],
      ),
    );
  }
}

const LOST = msg`Its vectors were lost and are made again.`;
const { pending, parsed, failed } = AttachmentStatus;

/** A knowledge base whose fragments have vectors. */
export interface IndexedBase extends VectorScope, StoreOfBase {}

/** A part of the ids of fragments, and those of them that have a vector. */
export interface StoredRange {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly upTo: number;
  readonly fragmentIds: readonly number[];
}

/** Documents that are parsed, or whose vectors could not be made again. */
const RESTORABLE = `NOT parse_requested AND lease_token IS NULL
            AND (status = ${parsed} OR (status = ${failed} AND vectors_only))`;

/** Records of lost vectors. */
@Injectable()
export class LostVectorsRepository {
  constructor(private readonly database: Database) {}

  /** The bases of all tenants that are searched by vectors, by id. */
  async indexedBases(after: number, limit: number): Promise<IndexedBase[]> {
    return acrossTenants('sweep of bases with vectors', () =>
      this.database.query<IndexedBase>(
        `SELECT id AS "knowledgeId", tenant_id AS "tenantId", vector_model AS "vectorModel",
                vector_store AS "vectorStore"
           FROM knowledge_base WHERE id > $1 AND embedding_model <> '' ORDER BY id LIMIT $2`,
        [after, limit],
      ),
    );
  }

  /** Fragments of the base; those that were written by hand need not have a vector. */
  async countFragments({ tenantId, knowledgeId }: VectorScope): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*) AS count FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2',
      [tenantId, knowledgeId],
    );
    return row?.count ?? 0;
  }

  /** Whether a parsed document of the base has a fragment that must have a vector. */
  async expectsVectors({ tenantId, knowledgeId }: VectorScope): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT f.id FROM fragment f JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = f.tenant_id
        WHERE f.tenant_id = $1 AND f.knowledge_id = $2 AND NOT f.edited AND a.status = ${parsed} LIMIT 1`,
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  /** Whether a worker may have vectors in the store whose fragments are not committed yet. */
  async isBeingParsed({ tenantId, knowledgeId }: VectorScope): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT id FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = $2 AND lease_token IS NOT NULL LIMIT 1`,
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  /**
   * Asks for the vectors of the documents that have a fragment of the range without one. Returns the documents. Takes the
   * rows in the order of their ids, as a deletion does. Lock the base before.
   */
  async requestMissing(
    { tenantId, knowledgeId }: VectorScope,
    { after, upTo, fragmentIds }: StoredRange,
  ): Promise<WaitingDocument[]> {
    return this.database.query<WaitingDocument>(
      `UPDATE attachment
          SET parse_requested = true, vectors_only = true, status = ${pending}, failure = NULL, attempts = 0,
              waiting_for = $6, awaited_since = NULL, progress_done = 0,
              progress_total = fragment_count, requested_by = 0, requested_home = NULL, requested_at = now(),
              due_at = now(), update_time = now()
         FROM (SELECT id FROM attachment
                WHERE tenant_id = $1 AND knowledge_id = $2 AND ${RESTORABLE} AND id IN (
                  SELECT f.attachment_id FROM fragment f
                   WHERE f.tenant_id = $1 AND f.knowledge_id = $2 AND f.id > $3 AND f.id <= $4 AND NOT f.edited
                     AND NOT EXISTS (SELECT FROM unnest($5::bigint[]) AS stored (id) WHERE stored.id = f.id))
                ORDER BY id FOR NO KEY UPDATE) lost
        WHERE attachment.tenant_id = $1 AND attachment.id = lost.id AND ${RESTORABLE}
        RETURNING ${WAITING}`,
      [tenantId, knowledgeId, after, upTo, fragmentIds, LOST],
    );
  }

  /** False when the base is marked already, or gone. */
  async mark({ tenantId, knowledgeId }: VectorScope): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE knowledge_base SET vectors_lost_at = now()
        WHERE tenant_id = $1 AND id = $2 AND vectors_lost_at IS NULL RETURNING id`,
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  /** Removes the mark unless vectors are still to be made; false when it stays, or there is none. */
  async clear({ tenantId, knowledgeId }: VectorScope): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE knowledge_base SET vectors_lost_at = NULL
        WHERE tenant_id = $1 AND id = $2 AND vectors_lost_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM attachment
                           WHERE tenant_id = $1 AND knowledge_id = $2 AND vectors_only AND status <> ${parsed})
        RETURNING id`,
      [tenantId, knowledgeId],
    );
    return rows.length > 0;
  }

  async countMarked(): Promise<number> {
    const [row] = await acrossTenants('metric of incomplete bases', () =>
      this.database.query<{ count: number }>(
        'SELECT count(*) AS count FROM knowledge_base WHERE vectors_lost_at IS NOT NULL',
      ),
    );
    return row?.count ?? 0;
  }
}
