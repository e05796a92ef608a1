import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import type { AuditAction } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { randomName } from '../../fragment/index.js';
import type { Page } from '../../platform/http/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import {
  LONGEST_QUERY,
  NothingCitedError,
  TestQueryTooLongError,
  TestSetFullError,
  writeJudgements,
  writeQueries,
} from './beir.js';
import { Expectations } from './expectations.js';
import { keyOf } from './judgement.js';
import type {
  CreateTestQueryBody,
  ExportTestSetQuery,
  TestQueryListQuery,
  UpdateTestQueryBody,
} from './test-set.dto.js';
import { TestSetRepository } from './test-set.repository.js';
import type { Scope, TestQueryValues } from './test-set.repository.js';
import type { Expected } from './test-set.entity.js';
import { toTestQueryView } from './test-set.view.js';
import type { TestQueryView } from './test-set.view.js';

/** The test set of a knowledge base. Reading and writing it needs the same right for the base. */
@Injectable()
export class TestSetService {
  private readonly limit: number;

  constructor(
    private readonly testSets: TestSetRepository,
    private readonly expectations: Expectations,
    private readonly knowledge: KnowledgeService,
    private readonly database: Database,
    private readonly audit: AuditLog,
    @Inject(CONFIG) config: Config,
  ) {
    this.limit = config.EVALUATION_QUERIES;
  }

  async list(
    caller: Caller,
    knowledgeId: number,
    query: TestQueryListQuery,
  ): Promise<Page<TestQueryView>> {
    await this.knowledge.readable(caller, knowledgeId);
    const scope = { tenantId: caller.tenantId, knowledgeId };
    const page = await this.testSets.page(scope, query);
    const names = await this.expectations.namesOf(
      scope,
      page.rows.flatMap(({ expected }) => expected),
    );
    return page.map((row) => toTestQueryView(row, names));
  }

  async create(
    caller: Caller,
    knowledgeId: number,
    body: CreateTestQueryBody,
  ): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    const scope = { tenantId: caller.tenantId, knowledgeId };
    return this.database.transaction(async () => {
      const expected = await this.expectations.read(scope, body.expected);
      const queryId = body.queryId?.trim() || randomName();
      const { id } = await this.testSets.insert(scope, { ...body, queryId, expected });
      await this.requireRoom(scope);
      await this.record(caller, 'create', knowledgeId, 1);
      return this.view(scope, id);
    });
  }

  /**
   * Adds the question of an answer, which is expected to find what the answer cites: each fragment, or its document where
   * it was parsed again since. Throws NothingCitedError when none of it exists.
   */
  async createFromCitations(
    caller: Caller,
    knowledgeId: number,
    asked: {
      readonly queryId: string;
      readonly query: string;
      readonly cited: readonly { readonly docId: string; readonly fid: string }[];
    },
  ): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    if (asked.query.length > LONGEST_QUERY) throw new TestQueryTooLongError();
    const scope = { tenantId: caller.tenantId, knowledgeId };
    const choices = asked.cited.map(({ docId, fid }): [Expected, Expected] => [
      { fid, relevance: 1 },
      { docId, relevance: 1 },
    ]);
    const names = await this.expectations.namesOf(scope, choices.flat());
    const expected = choices.flatMap((either) => either.find((one) => names.has(keyOf(one))) ?? []);
    if (expected.length === 0) throw new NothingCitedError();
    const { queryId, query } = asked;
    return this.create(caller, knowledgeId, { queryId, query, expected });
  }

  async update(
    caller: Caller,
    knowledgeId: number,
    { id, query, expected }: UpdateTestQueryBody,
  ): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    const scope = { tenantId: caller.tenantId, knowledgeId };
    return this.database.transaction(async () => {
      await this.testSets.update(scope, {
        id,
        ...(query !== undefined && { query }),
        ...(expected && { expected: await this.expectations.read(scope, expected) }),
      });
      await this.record(caller, 'update', knowledgeId, 1);
      return this.view(scope, id);
    });
  }

  async remove(caller: Caller, knowledgeId: number, ids: readonly number[]): Promise<void> {
    await this.knowledge.writable(caller, knowledgeId);
    await this.database.transaction(async () => {
      await this.testSets.remove({ tenantId: caller.tenantId, knowledgeId }, ids);
      await this.record(caller, 'delete', knowledgeId, ids.length);
    });
  }

  /** One of the two BEIR files; importing both restores the test set. */
  async export(caller: Caller, knowledgeId: number, { part }: ExportTestSetQuery): Promise<string> {
    await this.knowledge.readable(caller, knowledgeId);
    const queries = await this.testSets.all({ tenantId: caller.tenantId, knowledgeId });
    if (part === 'queries') {
      return writeQueries(queries.map(({ queryId, query }) => ({ id: queryId, text: query })));
    }
    return writeJudgements(
      queries.flatMap(({ queryId, expected }) =>
        expected.map((one) => ({
          queryId,
          corpusId: 'docId' in one ? one.docId : one.fid,
          score: one.relevance,
        })),
      ),
    );
  }

  /** Adds queries, replacing those with the same queryId; returns the number of new ones. Without a permission check. */
  async putAll(
    caller: Caller,
    knowledgeId: number,
    values: readonly TestQueryValues[],
  ): Promise<number> {
    const scope = { tenantId: caller.tenantId, knowledgeId };
    return this.database.transaction(async () => {
      const added = await this.testSets.putAll(scope, values);
      await this.requireRoom(scope);
      await this.record(caller, 'upload', knowledgeId, values.length);
      return added;
    });
  }

  private async requireRoom(scope: Scope): Promise<void> {
    const count = await this.testSets.count(scope);
    if (count > this.limit) throw new TestSetFullError(this.limit);
  }

  private async view(scope: Scope, id: number): Promise<TestQueryView> {
    const row = await this.testSets.get(scope, id);
    return toTestQueryView(row, await this.expectations.namesOf(scope, row.expected));
  }

  private async record(
    caller: Caller,
    action: AuditAction,
    knowledgeId: number,
    queries: number,
  ): Promise<void> {
    const detail = { queries };
    await this.audit.record(caller, { action, target: 'test_set', id: knowledgeId, detail });
  }
}
