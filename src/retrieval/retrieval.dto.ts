import { MAX_RETRIEVED } from '../knowledge/index.js';
import { FILTER_DESCRIPTION, FILTER_EXAMPLE } from '../metadata/index.js';
import { AnyObject, Decimal, Flag, Id, Input, Text, Whole } from '../platform/http/index.js';

/** A question to one knowledge base; omitted values are taken from its settings. */
export class RetrievalBody extends Input({
  knowledgeId: Id({ description: 'A knowledge base that the caller may read' }),
  query: Text({
    max: 100_000,
    description: 'The question or words to search for',
    example: 'How long is the warranty?',
  }),
  topK: Whole({
    optional: true,
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Replaces retrieveLimit',
  }),
  threshold: Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Minimum cosine similarity in the vector channel; replaces similarityThreshold',
  }),
  enableRerank: Flag({ optional: true }),
  rerankModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category rerank',
  }),
  enableHybrid: Flag({ optional: true, description: 'Vector and keyword search, fused' }),
  hybridAlpha: Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel',
  }),
  filter: AnyObject({
    optional: true,
    description: FILTER_DESCRIPTION,
    example: FILTER_EXAMPLE,
  }),
  explain: Flag({
    optional: true,
    description: 'Explain the rank of each fragment, and what was dropped and why',
  }),
}) {}
