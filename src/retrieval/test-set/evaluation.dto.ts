import { MAX_RETRIEVED } from '../../knowledge/index.js';
import { Decimal, Flag, Input, pageFields, Text, Whole } from '../../platform/http/index.js';

/** Omitted values are taken from the settings of the knowledge base. */
export class EvaluateBody extends Input({
  k: Whole({
    optional: true,
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Cut-off k of the metrics; default 10',
  }),
  topK: Whole({
    optional: true,
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Number of retrieved fragments; replaces retrieveLimit',
  }),
  threshold: Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Replaces similarityThreshold',
  }),
  enableHybrid: Flag({ optional: true }),
  hybridAlpha: Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel',
  }),
  enableRerank: Flag({ optional: true }),
  rerankModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category rerank',
  }),
}) {}

export class EvaluationListQuery extends Input({
  ...pageFields('id', 'k', 'queryCount', 'ndcg', 'recall', 'mrr', 'createTime'),
  withResults: Flag({
    optional: true,
    description: 'Also answer the result of each query; then at most 10 runs per page',
  }),
}) {}
