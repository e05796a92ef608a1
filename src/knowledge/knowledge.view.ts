import {
  integer,
  nullable,
  oneOf,
  recordId,
  recordRevision,
  sheetOf,
  text,
  time,
  View,
  wireTime,
} from '../platform/http/index.js';
import { LEVEL_NAMES } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';
import { KNOWLEDGE_SETTINGS } from './knowledge.settings.js';
import { shownSettings, viewFields } from './setting.kinds.js';

/** A knowledge base. Absent texts are '', because the forms of existing clients fail on null; switches are 0 or 1. */
export class KnowledgeView extends View({
  id: recordId(),
  userId: nullable(
    integer({ example: 1, description: 'The owner; null when the user was deleted' }),
  ),
  level: oneOf<GrantLevel>(LEVEL_NAMES, {
    description: 'What grants let the caller do with it; each level includes those before it',
  }),
  ...viewFields(KNOWLEDGE_SETTINGS),
  vectorStore: text({ example: 'qdrant', description: 'The store that holds its vectors' }),
  storeAfterReindex: text({
    example: 'qdrant',
    description:
      'The store that reindex: true moves them to; differs from vectorStore after QDRANT_URL was set or removed',
  }),
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
    'level' | 'documentCount' | 'vectorRemovals' | 'vectorStore' | 'storeAfterReindex'
  >,
): KnowledgeView {
  return KnowledgeView.of(knowledge, {
    ...shownSettings(KNOWLEDGE_SETTINGS, knowledge),
    ...contents,
    vectorsLostTime: wireTime(knowledge.vectorsLostAt),
  });
}
