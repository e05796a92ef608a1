import { isPublished } from '../grant/index.js';
import {
  choice,
  decimalNumber,
  derived,
  entries,
  line,
  literal,
  model,
  onOff,
  paragraph,
  requiredLine,
  whole,
} from './setting.kinds.js';

/** The language of each text is recognised. */
export const AUTOMATIC = 'auto';

/** Stemming languages of a knowledge base: the text search configurations of PostgreSQL 15 and later. */
export const KNOWLEDGE_LANGUAGES = [
  AUTOMATIC,
  'arabic',
  'armenian',
  'basque',
  'catalan',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const;

/** `adjacent`: the fragments before and after a hit; `section`: those of its section. */
export const neighbourModes = ['none', 'adjacent', 'section'] as const;

/** The largest retrieveLimit, and the largest topK of a request. */
export const MAX_RETRIEVED = 200;

const MAX_INTEGER = 2_147_483_647;
const MAX_FRAGMENT_CHARS = 1_000_000;

/**
 * The settings of a knowledge base in the order of the console's form. Columns, bodies, answers, sort fields and the form
 * follow from them. An empty text sets a text or a number back to its default; null and an absent field keep it.
 */
export const KNOWLEDGE_SETTINGS = {
  name: requiredLine({ section: 'general', max: 50, example: 'Manuals' }),
  description: paragraph({ section: 'general', max: 1_000 }),
  // The grant of the tenant, as existing forms know it.
  share: derived(
    isPublished('knowledge', 'read'),
    onOff(0, {
      section: 'general',
      description:
        '1: every user of the tenant may read it; default 0. To change it, the caller needs the level manage, and for 1 the permission access:publish',
    }),
  ),
  remark: paragraph({ section: 'general', max: 500 }),

  textBlockSize: whole(1_000, {
    section: 'splitting',
    parsing: 'fragments',
    max: MAX_FRAGMENT_CHARS,
    step: 100,
    description: 'Greater than 0; default 1000',
    example: 1_000,
  }),
  overlapChar: whole(50, {
    section: 'splitting',
    parsing: 'fragments',
    max: MAX_FRAGMENT_CHARS,
    step: 10,
    description:
      'At least 0 and less than textBlockSize. Default 50, or half of a textBlockSize below 100: an empty text goes back to it',
    example: 50,
  }),
  separator: literal({
    section: 'splitting',
    parsing: 'fragments',
    max: 255,
    description: 'Literal text that splits first; the two characters \\n mean a line feed',
    example: '\\n',
  }),

  language: choice(KNOWLEDGE_LANGUAGES, AUTOMATIC, {
    section: 'reading',
    parsing: 'fragments',
    description:
      'Language of the documents for keyword search; default auto, which recognises it. A change applies to documents that are parsed afterwards',
  }),
  enableOcr: onOff(0, {
    section: 'reading',
    parsing: 'fragments',
    description: '1: scanned pages and image files are read by text recognition; default 0',
  }),
  ocrModel: model('chat', null, {
    section: 'reading',
    parsing: 'fragments',
    onlyWith: 'enableOcr',
    description:
      'modelName of a model of category chat with supportsVision; empty for the program tesseract of the server',
  }),
  contextModel: model('chat', null, {
    section: 'reading',
    parsing: 'fragments',
    description:
      'modelName of a model of category chat that writes a line of context for each fragment, one call each; empty for none',
  }),

  embeddingModel: model('vector', '', {
    section: 'index',
    parsing: 'vectors',
    description: 'modelName of a model of category vector; required before the first parsing',
    example: 'text-embedding-3-small',
  }),
  // The value is stored as entered (docs/WIRE.md, Knowledge bases).
  vectorModel: line('', {
    section: 'index',
    parsing: 'vectors',
    max: 50,
    description: 'Code of the vector store; empty for the default one',
    example: 'qdrant',
  }),

  retrieveLimit: whole(10, {
    section: 'search',
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Default 10',
    example: 10,
  }),
  similarityThreshold: decimalNumber(0.2, {
    section: 'search',
    min: -1,
    max: 1,
    step: 0.05,
    description: 'Minimum cosine similarity; 0 admits everything; default 0.2',
    example: 0.2,
  }),
  enableHybrid: onOff(1, {
    section: 'search',
    description: 'Vector and keyword search, fused; default 1',
  }),
  hybridAlpha: decimalNumber(0.5, {
    section: 'search',
    onlyWith: 'enableHybrid',
    min: 0,
    max: 1,
    step: 0.1,
    description: 'Weight of the keyword channel; default 0.5',
    example: 0.5,
  }),
  enableRerank: onOff(0, { section: 'search', description: 'Default 0' }),
  rerankModel: model('rerank', null, {
    section: 'search',
    onlyWith: 'enableRerank',
    description: 'modelName of a model of category rerank',
  }),
  rerankTopN: whole(null, {
    section: 'search',
    onlyWith: 'enableRerank',
    min: 0,
    max: MAX_INTEGER,
    description: '0 and an empty text clear it',
    example: 5,
  }),
  rerankScoreThreshold: decimalNumber(null, {
    section: 'search',
    onlyWith: 'enableRerank',
    step: 0.05,
    description: 'On the scale of the reranker; an empty text clears it',
    example: 0.2,
  }),

  neighbours: choice(neighbourModes, 'none', {
    section: 'neighbours',
    description:
      'The fragments that a model gets with each hit: adjacent (those before and after it), section (those of its section) or none; default none',
    example: 'adjacent',
  }),
  neighbourCharacters: whole(2_000, {
    section: 'neighbours',
    onlyWith: 'neighbours',
    min: 1,
    max: 100_000,
    step: 500,
    description: 'Characters of the neighbours of one hit at most; default 2000',
    example: 2_000,
  }),
};

/** The settings on which the fragments of a document and their terms depend. */
export const FRAGMENT_SETTINGS = entries(KNOWLEDGE_SETTINGS)
  .filter(([, { about }]) => about.parsing === 'fragments')
  .map(([name]) => name);
