import { Injectable } from '@nestjs/common';
import type {
  ExpectedBody,
  CreateTestQueryBody,
  ExportTestSetQuery,
  TestQueryListQuery,
  UpdateTestQueryBody,
} from './test-set.dto.js';
import { keyOf } from './judgement.js';
import type { Expected } from './test-set.entity.js';
import {
  AmbiguousExpectationError,
  UnknownExpectationError,
  MAX_QUERY_CHARS,
  NothingCitedError,
  TestQueryTooLongError,
  TestSetFullError,
  writeJudgements,
  writeQueries,
} from './beir.js';
import { readerScope, TestSetRepository } from './test-set.repository.js';
import type { DocumentName, ReaderScope, Scope, TestQueryValues } from './test-set.repository.js';
import { toTestQueryView } from './test-set.view.js';
import type { ExpectedNames, TestQueryView } from './test-set.view.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import type { AuditAction } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { randomName } from '../../fragment/index.js';
import type { Page } from '../../platform/http/index.js';
import { KnowledgeService } from '../../knowledge/index.js';

/** The possible meanings of a name. */
type Target = { readonly docId: string } | { readonly fid: string };
type Named = readonly [name: string, target: Target];

/** Limit of the test set of one knowledge base. */
export const TEST_SET = { maxQueries: 2_000 };

/** Resolves the expectations of queries to documents and fragments of a knowledge base. */
@Injectable()
export class Expectations {
  constructor(private readonly testSets: TestSetRepository) {}

  /** Each document and fragment once, with its highest relevance; UnknownExpectationError for unknown ones. */
  async read(scope: ReaderScope, bodies: readonly ExpectedBody[]): Promise<Expected[]> {
    const expected = distinct(bodies.map(readOne));
    const names = await this.namesOf(scope, expected);
    const unknown = expected.filter((one) => !names.has(keyOf(one)));
    if (unknown.length > 0) throw new UnknownExpectationError(unknown.map(nameOf));
    return expected;
  }

  /** The document names of existing expectations that the caller may read. */
  async namesOf(scope: ReaderScope, expected: readonly Expected[]): Promise<ExpectedNames> {
    const docIds = expected.flatMap((one) => ('docId' in one ? [one.docId] : []));
    const fids = expected.flatMap((one) => ('fid' in one ? [one.fid] : []));
    const documents = docIds.length === 0 ? [] : await this.testSets.documents(scope, docIds);
    const fragments = fids.length === 0 ? [] : await this.testSets.fragments(scope, fids);
    return new Map([...documents, ...fragments].map((one) => [keyOf(one), one.name]));
  }

  /**
   * Resolves names: a docId, a fid, a document's name, or a name without suffix that only one document has. Unknown
   * names are missing in the result.
   */
  async resolve(
    scope: ReaderScope,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, Target>> {
    const documents = await this.testSets.documents(scope, names);
    const fragments = await this.testSets.fragments(scope, names);
    // Later entries replace earlier ones of the same name.
    return new Map<string, Target>([
      ...uniqueStems(documents),
      ...documents.map(({ docId, name }): Named => [name, { docId }]),
      ...fragments.map(({ fid }): Named => [fid, { fid }]),
      ...documents.map(({ docId }): Named => [docId, { docId }]),
    ]);
  }
}

/** Removes duplicates; the highest relevance wins. */
export function distinct(expected: readonly Expected[]): Expected[] {
  const best = new Map<string, Expected>();
  for (const one of expected) {
    const existing = best.get(keyOf(one));
    if (!existing || existing.relevance < one.relevance) best.set(keyOf(one), one);
  }
  return [...best.values()];
}

function readOne({ docId, fid, relevance = 1 }: ExpectedBody): Expected {
  if (docId && !fid) return { docId, relevance };
  if (fid && !docId) return { fid, relevance };
  throw new AmbiguousExpectationError();
}

function nameOf(one: Expected): string {
  return 'docId' in one ? one.docId : one.fid;
}

function uniqueStems(documents: readonly DocumentName[]): Named[] {
  const byStem = Map.groupBy(documents, ({ name }) => name.replace(/\.[^.]*$/, ''));
  return [...byStem].flatMap(([stem, [first, ...others]]): Named[] =>
    first && others.length === 0 ? [[stem, { docId: first.docId }]] : [],
  );
}

/** The test set of a knowledge base. Reading and writing it needs the same right for the base. */
@Injectable()
export class TestSetService {
  constructor(
    private readonly testSets: TestSetRepository,
    private readonly expectations: Expectations,
    private readonly knowledge: KnowledgeService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(
    caller: Caller,
    knowledgeId: number,
    query: TestQueryListQuery,
  ): Promise<Page<TestQueryView>> {
    await this.knowledge.readable(caller, knowledgeId);
    const scope = readerScope(caller, knowledgeId);
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
    const scope = readerScope(caller, knowledgeId);
    return this.database.transaction(async () => {
      const expected = await this.expectations.read(scope, body.expected);
      const queryId = body.queryId?.trim() || randomName();
      const { id } = await this.testSets.insert(scope, { ...body, queryId, expected });
      await this.requireCapacity(scope);
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
    request: {
      readonly queryId: string;
      readonly query: string;
      readonly cited: readonly { readonly docId: string; readonly fid: string }[];
    },
  ): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    if (request.query.length > MAX_QUERY_CHARS) throw new TestQueryTooLongError();
    const scope = readerScope(caller, knowledgeId);
    const choices = request.cited.map(({ docId, fid }): [Expected, Expected] => [
      { fid, relevance: 1 },
      { docId, relevance: 1 },
    ]);
    const names = await this.expectations.namesOf(scope, choices.flat());
    const expected = choices.flatMap((either) => either.find((one) => names.has(keyOf(one))) ?? []);
    if (expected.length === 0) throw new NothingCitedError();
    const { queryId, query } = request;
    return this.create(caller, knowledgeId, { queryId, query, expected });
  }

  async update(
    caller: Caller,
    knowledgeId: number,
    { id, query, expected }: UpdateTestQueryBody,
  ): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    const scope = readerScope(caller, knowledgeId);
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
      await this.requireCapacity(scope);
      await this.record(caller, 'upload', knowledgeId, values.length);
      return added;
    });
  }

  private async requireCapacity(scope: Scope): Promise<void> {
    const count = await this.testSets.count(scope);
    if (count > TEST_SET.maxQueries) throw new TestSetFullError(TEST_SET.maxQueries);
  }

  private async view(scope: ReaderScope, id: number): Promise<TestQueryView> {
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
