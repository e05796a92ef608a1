import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Answer, OK_MESSAGE } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import type { Message } from '../../platform/message/index.js';
import { english, msg, sentences } from '../../platform/message/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { settingsOf } from '../retrieval.js';
import type { RetrievalOverrides } from '../retrieval.js';
import { RetrievalService } from '../retrieval.service.js';
import type { EvaluateBody, EvaluationListQuery } from './test-set.dto.js';
import { EvaluationRepository, TestSetRepository } from './test-set.repository.js';
import type { EvaluationValues } from './test-set.repository.js';
import { MeasuredSettingsView, toEvaluationView, toNewEvaluationView } from './test-set.view.js';
import type { EvaluationView, NewEvaluationView } from './test-set.view.js';
import { judge, mean, ndcg, recall, reciprocalRank } from './judgement.js';
import type { MeasuredSettings, QueryResult, TestQuery } from './test-set.entity.js';
import { EmptyTestSetError } from './beir.js';
import { TEST_SET } from './test-set.service.js';

/** Default cut-off k of the metrics, as in BEIR. */
const DEFAULT_K = 10;

/** Concurrent queries of one run, limited in favour of other requests. */
const CONCURRENCY = 4;

/** Runs per page when their results are requested. */
const MAX_RESULT_COUNT = 10;

interface Run {
  readonly caller: Caller;
  readonly knowledge: KnowledgeBase;
  readonly overrides: RetrievalOverrides;
  readonly k: number;
  readonly signal: AbortSignal;
  /** Notices by their English text, with their number of queries; filled while the run is measured. */
  readonly notices: Map<string, { readonly notice: Message; readonly count: number }>;
}

/** Measures the retrieval of a knowledge base with its test set. */
@Injectable()
export class EvaluationService {
  constructor(
    private readonly evaluations: EvaluationRepository,
    private readonly testSets: TestSetRepository,
    private readonly knowledge: KnowledgeService,
    private readonly retrieval: RetrievalService,
  ) {}

  async list(
    caller: Caller,
    knowledgeId: number,
    { withResults, ...query }: EvaluationListQuery,
  ): Promise<Page<EvaluationView>> {
    await this.knowledge.readable(caller, knowledgeId);
    const scope = { tenantId: caller.tenantId, knowledgeId };
    if (!withResults)
      return (await this.evaluations.page(scope, query)).map((one) => toEvaluationView(one));
    const pageSize = Math.min(query.pageSize ?? MAX_RESULT_COUNT, MAX_RESULT_COUNT);
    const page = await this.evaluations.page(scope, { ...query, pageSize });
    const results = await this.evaluations.resultsOf(
      scope,
      page.rows.map(({ id }) => id),
    );
    return page.map((one) => toEvaluationView(one, results.get(one.id)));
  }

  /**
   * Runs every query with the given settings and stores the result. A query that fails, or the signal, ends the run, and
   * nothing is stored, because a partial result is not comparable.
   */
  async evaluate(
    caller: Caller,
    knowledgeId: number,
    { body, signal }: { readonly body: EvaluateBody; readonly signal: AbortSignal },
  ): Promise<Answer<NewEvaluationView>> {
    const knowledge = await this.knowledge.writable(caller, knowledgeId);
    const scope = { tenantId: caller.tenantId, knowledgeId };
    const queries = await this.testSets.all(scope);
    if (queries.length === 0) throw new EmptyTestSetError();
    const { k = DEFAULT_K, ...overrides } = body;
    const run = { caller, knowledge, overrides, k, notices: new Map() };
    const results = await this.measureAll(queries.slice(0, TEST_SET.maxQueries), {
      ...run,
      signal,
    });
    const settings = measuredSettings(knowledge, overrides);
    const previous = await this.evaluations.newest(scope);
    const added = await this.evaluations.add(scope, {
      userId: caller.userId || null,
      settings,
      k,
      ...summary(results),
    });
    const texts = new Map(queries.map(({ queryId, query }) => [queryId, query]));
    const view = toNewEvaluationView(added, previous, texts);
    return new Answer(view, this.messageOf(run, settings, queries.length));
  }

  /** The results in the order of the queries. */
  private async measureAll(queries: readonly TestQuery[], run: Run): Promise<QueryResult[]> {
    const failed = new AbortController();
    const signal = AbortSignal.any([run.signal, failed.signal]);
    const results: QueryResult[] = [];
    const waiting = queries.entries();
    const work = async (): Promise<void> => {
      for (const [index, query] of waiting) {
        signal.throwIfAborted();
        results[index] = await this.measure(query, { ...run, signal });
      }
    };
    try {
      await Promise.all(Array.from({ length: CONCURRENCY }, work));
    } finally {
      failed.abort();
    }
    return results;
  }

  private async measure({ queryId, query, expected }: TestQuery, run: Run): Promise<QueryResult> {
    const { caller, knowledge, overrides, k, signal, notices } = run;
    const result = await this.retrieval.retrieve({
      caller,
      knowledge,
      query,
      overrides,
      signal,
    });
    for (const notice of result.notices) {
      const key = english(notice);
      notices.set(key, { notice, count: (notices.get(key)?.count ?? 0) + 1 });
    }
    const ranking = judge(result.fragments, expected);
    return {
      queryId,
      ndcg: ndcg(ranking, k),
      recall: recall(ranking, k),
      reciprocalRank: reciprocalRank(ranking, k),
      places: ranking.gains.flatMap((gain, index) => (gain > 0 ? [index + 1] : [])),
    };
  }

  private messageOf(
    { k, notices }: Pick<Run, 'k' | 'notices'>,
    { topK }: MeasuredSettings,
    queryCount: number,
  ): Message {
    const messages = [...notices.values()].map(
      ({ notice, count }) => msg`In ${count} queries: ${notice}`,
    );
    if (topK < k) {
      messages.push(
        msg`Only ${topK} fragments were retrieved, fewer than the ${k} that are measured. Increase topK.`,
      );
    }
    if (queryCount > TEST_SET.maxQueries) {
      messages.push(
        msg`Only the first ${TEST_SET.maxQueries} of ${queryCount} queries were measured.`,
      );
    }
    return messages.length === 0 ? OK_MESSAGE : sentences(messages);
  }
}

function summary(
  results: QueryResult[],
): Pick<EvaluationValues, 'ndcg' | 'recall' | 'mrr' | 'queryCount' | 'results'> {
  return {
    queryCount: results.length,
    ndcg: mean(results.map((one) => one.ndcg)),
    recall: mean(results.map((one) => one.recall)),
    mrr: mean(results.map((one) => one.reciprocalRank)),
    results,
  };
}

function measuredSettings(
  knowledge: KnowledgeBase,
  overrides: RetrievalOverrides,
): MeasuredSettings {
  return MeasuredSettingsView.of({ ...knowledge, ...settingsOf(knowledge, overrides) });
}
