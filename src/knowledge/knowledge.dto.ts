import {
  BasedOnRevision,
  Decimal,
  Flag,
  Id,
  Input,
  OneOf,
  pageFields,
  Text,
  Whole,
  ZeroOrOne,
} from '../platform/http/index.js';
import { neighbourModes } from './knowledge.entity.js';
import { KNOWLEDGE_LANGUAGES } from './knowledge.languages.js';
import { MOST_RETRIEVED } from './knowledge.rules.js';

const INTEGER = 2_147_483_647;
const SIZE = 1_000_000;

export class KnowledgeListQuery extends Input({
  ...pageFields(
    'id',
    'userId',
    'name',
    'share',
    'description',
    'separator',
    'overlapChar',
    'textBlockSize',
    'retrieveLimit',
    'similarityThreshold',
    'vectorModel',
    'embeddingModel',
    'enableHybrid',
    'hybridAlpha',
    'enableRerank',
    'rerankModel',
    'rerankTopN',
    'rerankScoreThreshold',
    'neighbours',
    'neighbourCharacters',
    'language',
    'enableOcr',
    'ocrModel',
    'contextModel',
    'remark',
    'createTime',
    'updateTime',
  ),
  name: Text({ optional: true, max: 50, description: 'Part of the name' }),
  share: ZeroOrOne({ optional: true }),
  vectorModel: Text({ optional: true, max: 50 }),
  embeddingModel: Text({ optional: true, max: 200 }),
  enableHybrid: ZeroOrOne({ optional: true }),
  enableRerank: ZeroOrOne({ optional: true }),
  rerankModel: Text({ optional: true, max: 200 }),
}) {}

/** The settings that both writing routes take. */
const knowledgeFields = {
  share: ZeroOrOne({
    optional: true,
    description: '1: every user of the tenant may read it; default 0',
  }),
  description: Text({ optional: true, max: 1_000 }),
  separator: Text({
    optional: true,
    max: 255,
    description: 'Literal text that splits first; the two characters \\n mean a line feed',
    example: '\\n',
  }),
  textBlockSize: Whole({
    optional: true,
    max: SIZE,
    description: 'Greater than 0; default 1000',
    example: 1_000,
  }),
  overlapChar: Whole({
    optional: true,
    clearable: true,
    max: SIZE,
    description:
      'At least 0 and less than textBlockSize. Default 50, or half of a textBlockSize below 100: an empty text goes back to it',
    example: 50,
  }),
  retrieveLimit: Whole({
    optional: true,
    min: 1,
    max: MOST_RETRIEVED,
    description: 'Default 10',
    example: 10,
  }),
  similarityThreshold: Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Minimum cosine similarity; 0 admits everything; default 0.2',
    example: 0.2,
  }),
  vectorModel: Text({
    optional: true,
    max: 50,
    description: 'Code of the vector store; empty for the default one',
    example: 'qdrant',
  }),
  embeddingModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category vector; required before the first parsing',
    example: 'text-embedding-3-small',
  }),
  enableHybrid: ZeroOrOne({
    optional: true,
    description: 'Vector and keyword search, fused; default 1',
  }),
  hybridAlpha: Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel; default 0.5',
    example: 0.5,
  }),
  enableRerank: ZeroOrOne({ optional: true, description: 'Default 0' }),
  rerankModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category rerank',
  }),
  rerankTopN: Whole({
    optional: true,
    clearable: true,
    min: 0,
    max: INTEGER,
    description: '0 and an empty text clear it',
  }),
  rerankScoreThreshold: Decimal({
    optional: true,
    clearable: true,
    description: 'On the scale of the reranker; an empty text clears it',
  }),
  neighbours: OneOf(neighbourModes, {
    optional: true,
    description:
      'The fragments that a model gets with each hit: adjacent (those before and after it), section (those of its section) or none; default none',
    example: 'adjacent',
  }),
  neighbourCharacters: Whole({
    optional: true,
    min: 1,
    max: 100_000,
    description: 'Characters of the neighbours of one hit at most; default 2000',
    example: 2_000,
  }),
  language: OneOf(KNOWLEDGE_LANGUAGES, {
    optional: true,
    description:
      'Language of the documents for keyword search; default auto, which recognises it. A change applies to documents that are parsed afterwards',
    example: 'auto',
  }),
  enableOcr: ZeroOrOne({
    optional: true,
    description: '1: scanned pages and image files are read by text recognition; default 0',
  }),
  ocrModel: Text({
    optional: true,
    max: 200,
    description:
      'modelName of a model of category chat with supportsVision; empty for the program tesseract of the server',
  }),
  contextModel: Text({
    optional: true,
    max: 200,
    description:
      'modelName of a model of category chat that writes a line of context for each fragment, one call each; empty for none',
  }),
  remark: Text({ optional: true, max: 500 }),
};

export class CreateKnowledgeBody extends Input({
  ...knowledgeFields,
  name: Text({ max: 50, example: 'Manuals' }),
}) {}

/** Fields that are absent or null keep their value; an empty text clears the field. */
export class UpdateKnowledgeBody extends Input({
  ...knowledgeFields,
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ optional: true, max: 50, example: 'Manuals' }),
  reindex: Flag({
    optional: true,
    description:
      'Parse every document again; required to change embeddingModel or vectorModel once documents are parsed',
  }),
}) {}
