import {
  Clearable,
  Decimal,
  Flag,
  Id,
  PageQuery,
  Text,
  Whole,
  ZeroOrOne,
} from '../platform/http/index.js';

const INTEGER = 2_147_483_647;
const SIZE = 1_000_000;

export class KnowledgeListQuery extends PageQuery {
  @Text({ optional: true, max: 50, description: 'Part of the name' })
  name?: string;

  @ZeroOrOne({ optional: true })
  share?: number;

  @Text({ optional: true, max: 50 })
  vectorModel?: string;

  @Text({ optional: true, max: 200 })
  embeddingModel?: string;

  @ZeroOrOne({ optional: true })
  enableHybrid?: number;

  @ZeroOrOne({ optional: true })
  enableRerank?: number;

  @Text({ optional: true, max: 200 })
  rerankModel?: string;
}

/** The settings that both writing routes take. */
class KnowledgeFields {
  @ZeroOrOne({ optional: true, description: '1: every user of the tenant may read it; default 0' })
  share?: number;

  @Text({ optional: true, max: 1_000 })
  description?: string;

  @Text({
    optional: true,
    max: 255,
    description: 'Literal text that splits first; the two characters \\n mean a line feed',
    example: '\\n',
  })
  separator?: string;

  @Whole({ optional: true, max: SIZE, description: 'Greater than 0; default 1000', example: 1_000 })
  textBlockSize?: number;

  @Whole({
    optional: true,
    max: SIZE,
    description: 'At least 0 and less than textBlockSize; default 50',
    example: 50,
  })
  overlapChar?: number;

  @Whole({ optional: true, min: 1, max: 200, description: 'Default 10', example: 10 })
  retrieveLimit?: number;

  @Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Minimum cosine similarity; 0 admits everything; default 0.5',
    example: 0.5,
  })
  similarityThreshold?: number;

  @Text({
    optional: true,
    max: 50,
    description: 'Code of the vector store; empty for the default one',
    example: 'qdrant',
  })
  vectorModel?: string;

  @Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category vector; required before the first parsing',
    example: 'text-embedding-3-small',
  })
  embeddingModel?: string;

  @ZeroOrOne({ optional: true, description: 'Default 0' })
  enableHybrid?: number;

  @Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel; default 0.5',
    example: 0.5,
  })
  hybridAlpha?: number;

  @ZeroOrOne({ optional: true, description: 'Default 0' })
  enableRerank?: number;

  @Text({ optional: true, max: 200, description: 'modelName of a model of category rerank' })
  rerankModel?: string;

  @Whole({ optional: true, min: 0, max: INTEGER, description: '0 clears it' })
  rerankTopN?: number;

  @Decimal({
    optional: true,
    description: 'On the scale of the reranker; an empty text clears it',
  })
  @Clearable()
  rerankScoreThreshold?: number | null;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class CreateKnowledgeBody extends KnowledgeFields {
  @Text({ max: 50, example: 'Manuals' })
  name: string;
}

/** Fields that are absent or null keep their value; an empty text clears the field. */
export class UpdateKnowledgeBody extends KnowledgeFields {
  @Id()
  id: number;

  @Text({ optional: true, max: 50, example: 'Manuals' })
  name?: string;

  @Flag({
    optional: true,
    description:
      'Parse every document again; required to change embeddingModel or vectorModel once documents are parsed',
  })
  reindex?: boolean;
}
