import { Injectable } from '@nestjs/common';
import {
  containing,
  Database,
  isForeignKeyViolation,
  isUniqueViolation,
  TenantScoped,
} from '../../platform/database/index.js';
import { comparedSubjects, readableDocument } from '../../grant/index.js';
import type { Caller } from '../../platform/access/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import type { Page, PageQuery } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { TestQueryListQuery } from './test-set.dto.js';
import { TestQuery, Evaluation } from './test-set.entity.js';
import type { Expected, QueryResult } from './test-set.entity.js';
import { DuplicateQueryIdError } from './beir.js';

/** A knowledge base of a tenant. */
export interface Scope {
  readonly tenantId: string;
  readonly knowledgeId: number;
}

/** A knowledge base as the caller reads it: without documents whose readers they are not. */
export interface ReaderScope extends Scope {
  readonly subjects: readonly string[] | null;
}

export function readerScope(caller: Caller, knowledgeId: number): ReaderScope {
  return { tenantId: caller.tenantId, knowledgeId, subjects: comparedSubjects(caller) };
}

export interface TestQueryValues {
  readonly queryId: string;
  readonly query: string;
  readonly expected: readonly Expected[];
}

/** A document of a knowledge base. */
export interface DocumentName {
  readonly docId: string;
  readonly name: string;
}

/** A fragment of a knowledge base, with its document's name. */
export interface FragmentName {
  readonly fid: string;
  readonly name: string;
}

const PUT_ALL = `
  INSERT INTO knowledge_test_query (tenant_id, knowledge_id, query_id, query, expected)
  SELECT $1, $2::bigint, new.*
    FROM unnest($3::text[], $4::text[], $5::jsonb[]) AS new (query_id, query, expected)
  ON CONFLICT (tenant_id, knowledge_id, query_id) DO UPDATE
     SET query = EXCLUDED.query, expected = EXCLUDED.expected, update_time = now()
  RETURNING xmax = 0 AS "isNew"`;

const ID_INDEX = 'knowledge_test_query_name';

/** The test sets. Reads the tables of documents and fragments to resolve names. */
@Injectable()
export class TestSetRepository {
  private readonly queries: TenantScoped<TestQuery>;

  constructor(private readonly database: Database) {
    this.queries = new TenantScoped(database, TestQuery, msg`The test query`);
  }

  async page(
    { tenantId, knowledgeId }: Scope,
    { query: text, queryId, ...query }: TestQueryListQuery,
  ): Promise<Page<TestQuery>> {
    const where = {
      knowledgeId,
      ...(text && { query: containing(text) }),
      ...(queryId && { queryId }),
    };
    return this.queries.page(tenantId, query, where, { id: 'DESC' });
  }

  /** All queries, in the order of insertion. */
  async all({ tenantId, knowledgeId }: Scope): Promise<TestQuery[]> {
    return this.queries.find(tenantId, { knowledgeId }, { id: 'ASC' });
  }

  async get({ tenantId, knowledgeId }: Scope, id: number): Promise<TestQuery> {
    return this.queries.get(tenantId, id, { knowledgeId });
  }

  async count({ tenantId, knowledgeId }: Scope): Promise<number> {
    return this.queries.count(tenantId, { knowledgeId });
  }

  async insert({ tenantId, knowledgeId }: Scope, values: TestQueryValues): Promise<TestQuery> {
    const { queryId, query, expected } = values;
    const row = { knowledgeId, queryId, query, expected: [...expected] };
    try {
      return await this.queries.insert(tenantId, row);
    } catch (error) {
      if (isUniqueViolation(error, ID_INDEX)) throw new DuplicateQueryIdError(queryId);
      throw withoutBase(error);
    }
  }

  async update(
    { tenantId, knowledgeId }: Scope,
    { id, expected, ...values }: Partial<TestQueryValues> & { readonly id: number },
  ): Promise<void> {
    const change = { ...values, ...(expected && { expected: [...expected] }) };
    await this.queries.update(tenantId, id, change, { knowledgeId });
  }

  async remove({ tenantId, knowledgeId }: Scope, ids: readonly number[]): Promise<void> {
    await this.queries.remove(tenantId, ids, { knowledgeId });
  }

  /** Adds queries, replacing those with the same queryId; returns the number of new ones. */
  async putAll(
    { tenantId, knowledgeId }: Scope,
    values: readonly TestQueryValues[],
  ): Promise<number> {
    const rows = await this.database
      .query<{ isNew: boolean }>(PUT_ALL, [
        tenantId,
        knowledgeId,
        values.map(({ queryId }) => queryId),
        values.map(({ query }) => query),
        values.map(({ expected }) => JSON.stringify(expected)),
      ])
      .catch((error: unknown) => {
        throw withoutBase(error);
      });
    return rows.filter(({ isNew }) => isNew).length;
  }

  /** The documents of the base with these docIds or names, with or without the suffix. */
  async documents(
    { tenantId, knowledgeId, subjects }: ReaderScope,
    names: readonly string[],
  ): Promise<DocumentName[]> {
    return this.database.query<DocumentName>(
      `SELECT doc_id AS "docId", name FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = $2
          AND (doc_id = ANY ($3::text[]) OR name = ANY ($3::text[])
               OR regexp_replace(name, '\\.[^.]*$', '') = ANY ($3::text[]))
          AND ${readableDocument('attachment', { tenant: '$1', subjects: '$4' })}
        ORDER BY id`,
      [tenantId, knowledgeId, names, subjects],
    );
  }

  async fragments(
    { tenantId, knowledgeId, subjects }: ReaderScope,
    fids: readonly string[],
  ): Promise<FragmentName[]> {
    return this.database.query<FragmentName>(
      `SELECT f.fid, a.name FROM fragment f
         JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = f.tenant_id
        WHERE f.tenant_id = $1 AND f.knowledge_id = $2 AND f.fid = ANY ($3::text[])
          AND ${readableDocument('a', { tenant: '$1', subjects: '$4' })}`,
      [tenantId, knowledgeId, fids, subjects],
    );
  }
}

function withoutBase(error: unknown): unknown {
  return isForeignKeyViolation(error) ? new NotFoundError(msg`The knowledge base`) : error;
}

export type EvaluationSummary = Omit<Evaluation, 'results'>;

export type EvaluationValues = Omit<Evaluation, 'id' | 'tenantId' | 'knowledgeId' | 'createTime'>;

/** Number of runs of a test set that are kept. */
const KEPT = 100;

@Injectable()
export class EvaluationRepository {
  private readonly evaluations: TenantScoped<Evaluation>;

  constructor(private readonly database: Database) {
    this.evaluations = new TenantScoped(database, Evaluation, msg`The evaluation`);
  }

  /** A page of evaluations, without the results of their queries. */
  async page({ tenantId, knowledgeId }: Scope, query: PageQuery): Promise<Page<EvaluationSummary>> {
    return this.evaluations.page(tenantId, query, { knowledgeId }, { id: 'DESC' });
  }

  /** The newest run, with its results. */
  async newest(scope: Scope): Promise<Evaluation | undefined> {
    const { tenantId, knowledgeId } = scope;
    const evaluation = await this.evaluations.findOne(tenantId, { knowledgeId }, { id: 'DESC' });
    if (!evaluation) return undefined;
    const results = await this.resultsOf(scope, [evaluation.id]);
    return { ...evaluation, results: results.get(evaluation.id) ?? [] };
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
      throw isForeignKeyViolation(error) ? new NotFoundError(msg`The knowledge base`) : error;
    }
  }
}
