import {
  decimal,
  integer,
  nullable,
  recordId,
  sheetOf,
  text,
  time,
  View,
  zeroOrOne,
} from '../platform/http/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

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
  similarityThreshold: decimal({ example: 0.5 }),
  vectorModel: text({ example: 'qdrant' }),
  embeddingModel: text({ example: 'text-embedding-3-small' }),
  enableHybrid: zeroOrOne({ example: 0 }),
  hybridAlpha: decimal({ example: 0.5, description: 'Weight of the keyword channel' }),
  enableRerank: zeroOrOne({ example: 0 }),
  rerankModel: text({ example: '' }),
  rerankTopN: nullable(integer({ example: 5 })),
  rerankScoreThreshold: nullable(decimal({ example: 0.2 })),
  enableOcr: zeroOrOne({ example: 0, description: '1: scanned pages and images are read' }),
  ocrModel: text({ example: '', description: 'Empty: the program tesseract of the server' }),
  contextModel: text({ example: '', description: 'Writes a line of context for each fragment' }),
  remark: text({ example: '' }),
  documentCount: integer({ example: 12 }),
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
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toKnowledgeView(knowledge: KnowledgeBase, documentCount: number): KnowledgeView {
  return KnowledgeView.of(knowledge, {
    description: knowledge.description ?? '',
    separator: knowledge.separator ?? '',
    rerankModel: knowledge.rerankModel ?? '',
    ocrModel: knowledge.ocrModel ?? '',
    contextModel: knowledge.contextModel ?? '',
    remark: knowledge.remark ?? '',
    documentCount,
  });
}
