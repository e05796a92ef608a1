import { ApiProperty } from '@nestjs/swagger';
import { Decimal, Flag, Id, Text, Whole, wireTime } from '../../platform/http/index.js';
import type { EvaluationSummary } from './evaluation.repository.js';
import type { Evaluation, MeasuredSettings, QueryResult } from './test-set.entity.js';

const FROM_0_TO_1 = { example: 0.83 };

/** The settings that were measured. */
export class MeasuredSettingsView implements MeasuredSettings {
  @Whole({ example: 10 })
  topK: number;

  @Decimal({ example: 0.5 })
  threshold: number;

  @Flag({ example: true })
  enableHybrid: boolean;

  @Decimal({ example: 0.5 })
  hybridAlpha: number;

  @Flag({ example: false })
  enableRerank: boolean;

  @Text({ example: '' })
  rerankModel: string;

  @Text({ example: 'text-embedding-3-small' })
  embeddingModel: string;

  @Whole({ example: 1000 })
  textBlockSize: number;

  @Whole({ example: 50 })
  overlapChar: number;
}

/** Means over all queries. */
export class MetricsView {
  @Decimal({ ...FROM_0_TO_1, description: 'nDCG at k' })
  ndcg: number;

  @Decimal({ ...FROM_0_TO_1, description: 'Share of the expected results within the first k' })
  recall: number;

  @Decimal({ ...FROM_0_TO_1, description: 'Mean of 1 / rank of the first expected result' })
  mrr: number;
}

/** The result of one query. */
export class QueryResultView implements QueryResult {
  @Text({ example: 'q1' })
  queryId: string;

  @Decimal(FROM_0_TO_1)
  ndcg: number;

  @Decimal(FROM_0_TO_1)
  recall: number;

  @Decimal(FROM_0_TO_1)
  reciprocalRank: number;

  @ApiProperty({ type: [Number], description: 'Ranks of the expected results, from 1' })
  places: number[];
}

/** A result compared with the previous run. */
export class ComparedResultView extends QueryResultView {
  @Text({ example: 'How long is the warranty?' })
  query: string;

  @Decimal({ nullable: true, description: 'nDCG in the previous run; null if it was not in it' })
  ndcgBefore: number | null;
}

/** One run of a test set. */
export class EvaluationView extends MetricsView {
  @Id()
  id: number;

  @Whole({ example: 10, description: 'Cut-off k of the metrics' })
  k: number;

  @Whole({ example: 225 })
  queryCount: number;

  @ApiProperty({ type: MeasuredSettingsView })
  settings: MeasuredSettingsView;

  @Id({ nullable: true, description: 'Who ran it; null when the user was deleted' })
  userId: number | null;

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  /** Only when requested. */
  @ApiProperty({ type: [QueryResultView], required: false })
  results?: QueryResultView[];
}

/** A finished run. */
export class NewEvaluationView extends EvaluationView {
  @ApiProperty({
    type: MetricsView,
    nullable: true,
    description: 'Difference to the previous run',
  })
  difference: MetricsView | null;

  @ApiProperty({ type: EvaluationView, nullable: true, description: 'The previous run' })
  previous: EvaluationView | null;

  @ApiProperty({ type: [ComparedResultView] })
  override results: ComparedResultView[];
}

export function toEvaluationView(
  evaluation: EvaluationSummary,
  results?: readonly QueryResult[],
): EvaluationView {
  const { id, k, queryCount, ndcg, recall, mrr, settings, userId } = evaluation;
  return {
    id,
    ndcg,
    recall,
    mrr,
    k,
    queryCount,
    settings,
    userId,
    createTime: wireTime(evaluation.createTime),
    ...(results && { results: results.map((one) => ({ ...one, places: [...one.places] })) }),
  };
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
      places: [...one.places],
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
