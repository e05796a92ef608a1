import { Injectable } from '@nestjs/common';
import { Database, isForeignKeyViolation, TenantScoped } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import type { Page, PageQuery } from '../../platform/http/index.js';
import { phrase } from '../../platform/message/index.js';
import { Evaluation } from './test-set.entity.js';
import type { QueryResult } from './test-set.entity.js';
import type { Scope } from './test-set.repository.js';

export type EvaluationSummary = Omit<Evaluation, 'results'>;

export type EvaluationValues = Omit<Evaluation, 'id' | 'tenantId' | 'knowledgeId' | 'createTime'>;

/** Number of runs of a test set that are kept. */
const KEPT = 100;

@Injectable()
export class EvaluationRepository {
  private readonly evaluations: TenantScoped<Evaluation>;

  constructor(private readonly database: Database) {
    this.evaluations = new TenantScoped(database, Evaluation, phrase`The evaluation`);
  }

  /** Without the results of the queries. */
  async page({ tenantId, knowledgeId }: Scope, query: PageQuery): Promise<Page<EvaluationSummary>> {
    return this.evaluations.page(tenantId, query, { knowledgeId }, { id: 'DESC' });
  }

  /** The newest run, with its results. */
  async newest(scope: Scope): Promise<Evaluation | undefined> {
    const { tenantId, knowledgeId } = scope;
    const found = await this.evaluations.findOne(tenantId, { knowledgeId }, { id: 'DESC' });
    if (!found) return undefined;
    const results = await this.resultsOf(scope, [found.id]);
    return { ...found, results: results.get(found.id) ?? [] };
  }

  /** The results of runs, by run id. */
  async resultsOf(
    { tenantId, knowledgeId }: Scope,
    ids: readonly number[],
  ): Promise<Map<number, QueryResult[]>> {
    const rows = await this.database.query<{ id: number; results: QueryResult[] }>(
      `SELECT id, results FROM knowledge_evaluation
        WHERE tenant_id = $1 AND knowledge_id = $2 AND id = ANY ($3::bigint[])`,
      [tenantId, knowledgeId, ids],
    );
    return new Map(rows.map(({ id, results }) => [id, results]));
  }

  /** Adds a run and deletes the oldest ones beyond the limit. */
  async add({ tenantId, knowledgeId }: Scope, values: EvaluationValues): Promise<Evaluation> {
    try {
      return await this.database.transaction(async () => {
        const added = await this.evaluations.insert(tenantId, { ...values, knowledgeId });
        await this.database.query(
          `DELETE FROM knowledge_evaluation WHERE tenant_id = $1 AND knowledge_id = $2 AND id <=
             (SELECT id FROM knowledge_evaluation WHERE tenant_id = $1 AND knowledge_id = $2
               ORDER BY id DESC OFFSET $3 LIMIT 1)`,
          [tenantId, knowledgeId, KEPT],
        );
        return added;
      });
    } catch (error) {
      throw isForeignKeyViolation(error) ? new NotFoundError(phrase`The knowledge base`) : error;
    }
  }
}
