import { Decimal, Flag, PageQuery, Text, Whole } from '../../platform/http/index.js';

const MOST = 200;

/** What is not given is taken from the knowledge base's settings. */
export class EvaluateBody {
  @Whole({
    optional: true,
    min: 1,
    max: MOST,
    description: 'How many places count; 10 when not given',
  })
  k?: number;

  @Whole({
    optional: true,
    min: 1,
    max: MOST,
    description: 'Fragments that are retrieved; replaces retrieveLimit',
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
    description: 'Also the result of each query; pages of at most 10 runs then',
  })
  withResults?: boolean;
}
