import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import type { StoreOfBase, VectorScope } from '../../vector-store/index.js';

/** A home and the vectorModel of bases that have it. */
interface HomePair {
  readonly vectorModel: string;
  readonly vectorStore: string;
}

/** What the records say of the stores that hold the vectors of knowledge bases. */
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

  /** How many bases with fragments there are of each pair. */
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
