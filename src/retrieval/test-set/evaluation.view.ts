import {
  decimal,
  flag,
  integer,
  list,
  nullable,
  numbers,
  object,
  optional,
  recordId,
  schema,
  text,
  time,
  View,
} from '../../platform/http/index.js';
import type { EvaluationSummary } from './evaluation.repository.js';
import type { Evaluation, MeasuredSettings, QueryResult } from './test-set.entity.js';

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
  /** Only when requested. */
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
