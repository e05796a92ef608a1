import { Decimal, Flag, PageQuery, Text, Whole } from '../../platform/http/index.js';

const MOST = 200;

/** Omitted values are taken from the settings of the knowledge base. */
export class EvaluateBody {
  @Whole({
    optional: true,
    min: 1,
    max: MOST,
    description: 'Cut-off k of the metrics; default 10',
  })
  k?: number;

  @Whole({
    optional: true,
    min: 1,
    max: MOST,
    description: 'Number of retrieved fragments; replaces retrieveLimit',
  })
  topK?: number;

  @Decimal({ optional: true, min: -1, max: 1, description: 'Replaces similarityThreshold' })
  threshold?: number;

  @Flag({ optional: true })
  enableHybrid?: boolean;

  @Decimal({ optional: true, min: 0, max: 1, description: 'Weight of the keyword channel' })
  hybridAlpha?: number;

  @Flag({ optional: true })
  enableRerank?: boolean;

  @Text({ optional: true, max: 200, description: 'modelName of a model of category rerank' })
  rerankModel?: string;
}

export class EvaluationListQuery extends PageQuery {
  @Flag({
    optional: true,
    description: 'Also answer the result of each query; then at most 10 runs per page',
  })
  withResults?: boolean;
}
