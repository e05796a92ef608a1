import {
  Answer,
  integer,
  list,
  nullable,
  OK_MESSAGE,
  optional,
  recordId,
  text,
  time,
  View,
  decimal,
  flag,
  numbers,
  object,
  schema,
} from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { keyOf } from './judgement.js';
import type { TestQuery, Evaluation, MeasuredSettings, QueryResult } from './test-set.entity.js';
import type { EvaluationSummary } from './test-set.repository.js';

/** Document names by expectation (keyOf); deleted ones have none. */
export type ExpectedNames = ReadonlyMap<string, string>;

/** An expected result; either docId or fid is set. */
export class ExpectedView extends View({
  docId: optional(text({ example: 'a1b2c3d4e5' })),
  fid: optional(text({ example: 'k3v9x0a2bq' })),
  relevance: integer({
    example: 1,
    description: '1 somewhat relevant, 2 relevant, 3 exactly the answer',
  }),
  sourceName: nullable(
    text({
      example: 'warranty.pdf',
      description: 'Name of its document; null when it was deleted',
    }),
  ),
}) {}

/** One query of a test set. */
export class TestQueryView extends View({
  id: recordId(),
  queryId: text({ example: 'q1' }),
  query: text({ example: 'How long is the warranty?' }),
  expected: list(ExpectedView),
  createTime: time(),
  updateTime: time(),
}) {}

/** The result of an import. */
export class ImportView extends View({
  added: integer({ example: 40, description: 'New queries' }),
  replaced: integer({ example: 2, description: 'Queries that were replaced' }),
  skipped: integer({
    example: 3,
    description: 'Queries left out, because none of their expected results exists',
  }),
  unknown: integer({
    example: 7,
    description: 'Judgements left out, because their document or fragment does not exist',
  }),
}) {}

export function toTestQueryView(query: TestQuery, names: ExpectedNames): TestQueryView {
  const expected = query.expected.map((one) => ({
    ...one,
    sourceName: names.get(keyOf(one)) ?? null,
  }));
  return TestQueryView.of(query, { expected });
}

/** The message names some of the unknown documents and fragments. */
export function toImportAnswer(view: ImportView, unknown: readonly string[]): Answer<ImportView> {
  if (unknown.length === 0) return new Answer(view, OK_MESSAGE);
  const some = unknown.slice(0, SHOWN).join(', ');
  const named = unknown.length > SHOWN ? msg`${some} and ${unknown.length - SHOWN} more` : some;
  return new Answer(
    view,
    msg`Left out judgements without a document or fragment in this knowledge base: ${named}.`,
  );
}

const SHOWN = 5;

const FROM_0_TO_1 = { example: 0.83 };

/** The settings that were measured. */
export class MeasuredSettingsView
  extends View({
    topK: integer({ example: 10 }),
    threshold: decimal({ example: 0.5 }),
    enableHybrid: flag({ example: true }),
    hybridAlpha: decimal({ example: 0.5 }),
    enableRerank: flag({ example: false }),
    rerankModel: text({ example: '' }),
    embeddingModel: text({ example: 'text-embedding-3-small' }),
    textBlockSize: integer({ example: 1000 }),
    overlapChar: integer({ example: 50 }),
  })
  implements MeasuredSettings {}

/** Means over all queries. */
const metrics = {
  ndcg: decimal({ ...FROM_0_TO_1, description: 'nDCG at k' }),
  recall: decimal({
    ...FROM_0_TO_1,
    description: 'Share of the expected results within the first k',
  }),
  mrr: decimal({ ...FROM_0_TO_1, description: 'Mean of 1 / rank of the first expected result' }),
};

export class MetricsView extends View(metrics) {}

/** The result of one query. */
const queryResult = {
  queryId: text({ example: 'q1' }),
  ndcg: decimal(FROM_0_TO_1),
  recall: decimal(FROM_0_TO_1),
  reciprocalRank: decimal(FROM_0_TO_1),
  places: numbers({ description: 'Ranks of the expected results, from 1' }),
};

export class QueryResultView extends View(queryResult) implements QueryResult {}

/** A result compared with the previous run. */
export class ComparedResultView extends View({
  ...queryResult,
  query: text({ example: 'How long is the warranty?' }),
  ndcgBefore: nullable(
    decimal({ description: 'nDCG in the previous run; null if it was not in it' }),
  ),
}) {}

/** One run of a test set. */
const evaluation = {
  ...metrics,
  id: recordId(),
  k: integer({ example: 10, description: 'Cut-off k of the metrics' }),
  queryCount: integer({ example: 225 }),
  settings: object(MeasuredSettingsView),
  userId: nullable(recordId({ description: 'Who ran it; null when the user was deleted' })),
  createTime: time(),
  /** Results of the queries, only when requested. */
  results: optional(list(QueryResultView)),
};

export class EvaluationView extends View(evaluation) {}

/** A finished run. */
export class NewEvaluationView extends View({
  ...evaluation,
  difference: nullable(object(MetricsView, { description: 'Difference to the previous run' })),
  previous: nullable(object(EvaluationView, { description: 'The previous run' })),
  results: schema<readonly ComparedResultView[]>({ type: [ComparedResultView], required: false }),
}) {}

export function toEvaluationView(
  summary: EvaluationSummary,
  results?: readonly QueryResult[],
): EvaluationView {
  return EvaluationView.of(summary, { results });
}

/** `texts` holds the queries by queryId. */
export function toNewEvaluationView(
  evaluation: Evaluation,
  previous: Evaluation | undefined,
  texts: ReadonlyMap<string, string>,
): NewEvaluationView {
  const before = new Map(previous?.results.map(({ queryId, ndcg }) => [queryId, ndcg]));
  return {
    ...toEvaluationView(evaluation),
    difference: previous ? differenceOf(evaluation, previous) : null,
    previous: previous ? toEvaluationView(previous) : null,
    results: evaluation.results.map((one) => ({
      ...one,
      query: texts.get(one.queryId) ?? '',
      ndcgBefore: before.get(one.queryId) ?? null,
    })),
  };
}

function differenceOf(now: MetricsView, before: MetricsView): MetricsView {
  return {
    ndcg: now.ndcg - before.ndcg,
    recall: now.recall - before.recall,
    mrr: now.mrr - before.mrr,
  };
}
