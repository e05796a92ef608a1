import {
  recordRevision,
  decimal,
  integer,
  nullable,
  oneOf,
  recordId,
  sheetOf,
  text,
  time,
  View,
  wireTime,
  zeroOrOne,
} from '../platform/http/index.js';
import { neighbourModes } from './knowledge.entity.js';
import type { KnowledgeBase, NeighbourMode } from './knowledge.entity.js';
import { KNOWLEDGE_LANGUAGES } from './knowledge.languages.js';

/** A knowledge base. Absent texts are '', because the forms of existing clients fail on null; switches are 0 or 1. */
export class KnowledgeView extends View({
  id: recordId(),
  userId: nullable(
    integer({ example: 1, description: 'The owner; null when the user was deleted' }),
  ),
  name: text({ example: 'Manuals' }),
  share: zeroOrOne({ example: 0, description: '1: every user of the tenant may read it' }),
  description: text({ example: '' }),
  separator: text({ example: '\\n' }),
  overlapChar: integer({ example: 50 }),
  textBlockSize: integer({ example: 1_000 }),
  retrieveLimit: integer({ example: 10 }),
  similarityThreshold: decimal({ example: 0.2 }),
  vectorModel: text({ example: 'qdrant' }),
  vectorStore: text({ example: 'qdrant', description: 'The store that holds its vectors' }),
  storeAfterReindex: text({
    example: 'qdrant',
    description:
      'The store that reindex: true moves them to; differs from vectorStore after QDRANT_URL was set or removed',
  }),
  embeddingModel: text({ example: 'text-embedding-3-small' }),
  enableHybrid: zeroOrOne({ example: 1 }),
  hybridAlpha: decimal({ example: 0.5, description: 'Weight of the keyword channel' }),
  enableRerank: zeroOrOne({ example: 0 }),
  rerankModel: text({ example: '' }),
  rerankTopN: nullable(integer({ example: 5 })),
  rerankScoreThreshold: nullable(decimal({ example: 0.2 })),
  neighbours: oneOf<NeighbourMode>(neighbourModes, {
    example: 'none',
    description: 'The fragments that a model gets with each hit',
  }),
  neighbourCharacters: integer({ example: 2_000 }),
  language: oneOf(KNOWLEDGE_LANGUAGES, {
    example: 'auto',
    description: 'Language of the documents for keyword search; auto: it is recognised',
  }),
  enableOcr: zeroOrOne({ example: 0, description: '1: scanned pages and images are read' }),
  ocrModel: text({ example: '', description: 'Empty: the program tesseract of the server' }),
  contextModel: text({ example: '', description: 'Writes a line of context for each fragment' }),
  remark: text({ example: '' }),
  documentCount: integer({ example: 12 }),
  vectorsLostTime: nullable(
    time({
      description:
        'Since when vectors are missing in the vector store, which are made again; null when none is',
    }),
  ),
  vectorRemovals: integer({
    example: 0,
    description:
      'Deletions whose vectors the vector store has not removed yet; they are retried until it has',
  }),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {}

export const knowledgeSheet = sheetOf<KnowledgeView>('Knowledge bases', {
  id: 'Id',
  name: 'Name',
  description: 'Description',
  share: ['Shared', { 0: 'No', 1: 'Yes' }],
  documentCount: 'Documents',
  embeddingModel: 'Embedding model',
  vectorModel: 'Vector store',
  textBlockSize: 'Block size',
  overlapChar: 'Overlap',
  retrieveLimit: 'Results',
  similarityThreshold: 'Threshold',
  enableHybrid: ['Hybrid search', { 0: 'No', 1: 'Yes' }],
  enableRerank: ['Reranking', { 0: 'No', 1: 'Yes' }],
  rerankModel: 'Rerank model',
  language: 'Language',
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toKnowledgeView(
  knowledge: KnowledgeBase,
  contents: Pick<
    KnowledgeView,
    'documentCount' | 'vectorRemovals' | 'vectorStore' | 'storeAfterReindex'
  >,
): KnowledgeView {
  return KnowledgeView.of(knowledge, {
    description: knowledge.description ?? '',
    separator: knowledge.separator ?? '',
    rerankModel: knowledge.rerankModel ?? '',
    ocrModel: knowledge.ocrModel ?? '',
    contextModel: knowledge.contextModel ?? '',
    remark: knowledge.remark ?? '',
    ...contents,
    vectorsLostTime: wireTime(knowledge.vectorsLostAt),
  });
}
