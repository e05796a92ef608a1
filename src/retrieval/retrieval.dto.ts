import { Decimal, Flag, Id, Text, Whole } from '../platform/http/index.js';

/** A question to one knowledge base; omitted values are taken from its settings. */
export class RetrievalBody {
  @Id({ description: 'A knowledge base that the caller may read' })
  knowledgeId: number;

  @Text({
    max: 100_000,
    description: 'The question or words to search for',
    example: 'How long is the warranty?',
  })
  query: string;

  @Whole({ optional: true, min: 1, max: 200, description: 'Replaces retrieveLimit' })
  topK?: number;

  @Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Minimum cosine similarity in the vector channel; replaces similarityThreshold',
  })
  threshold?: number;

  @Flag({ optional: true })
  enableRerank?: boolean;

  @Text({ optional: true, max: 200, description: 'modelName of a model of category rerank' })
  rerankModel?: string;

  @Flag({ optional: true, description: 'Vector and keyword search, fused' })
  enableHybrid?: boolean;

  @Decimal({ optional: true, min: 0, max: 1, description: 'Weight of the keyword channel' })
  hybridAlpha?: number;

  @Flag({
    optional: true,
    description: 'Explain the rank of each fragment, and what was dropped and why',
  })
  explain?: boolean;
}
