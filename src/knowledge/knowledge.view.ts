import { Decimal, Id, Text, Whole, wireTime, ZeroOrOne } from '../platform/http/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

/** A knowledge base. Absent texts are '', because the forms of existing clients fail on null; switches are 0 or 1. */
export class KnowledgeView {
  @Id()
  id: number;

  @Whole({ nullable: true, example: 1, description: 'The owner; null when the user was deleted' })
  userId: number | null;

  @Text({ example: 'Manuals' })
  name: string;

  @ZeroOrOne({ example: 0, description: '1: every user of the tenant may read it' })
  share: number;

  @Text({ example: '' })
  description: string;

  @Text({ example: '\\n' })
  separator: string;

  @Whole({ example: 50 })
  overlapChar: number;

  @Whole({ example: 1_000 })
  textBlockSize: number;

  @Whole({ example: 10 })
  retrieveLimit: number;

  @Decimal({ example: 0.5 })
  similarityThreshold: number;

  @Text({ example: 'qdrant' })
  vectorModel: string;

  @Text({ example: 'text-embedding-3-small' })
  embeddingModel: string;

  @ZeroOrOne({ example: 0 })
  enableHybrid: number;

  @Decimal({ example: 0.5, description: 'Weight of the keyword channel' })
  hybridAlpha: number;

  @ZeroOrOne({ example: 0 })
  enableRerank: number;

  @Text({ example: '' })
  rerankModel: string;

  @Whole({ nullable: true, example: 5 })
  rerankTopN: number | null;

  @Decimal({ nullable: true, example: 0.2 })
  rerankScoreThreshold: number | null;

  @Text({ example: '' })
  remark: string;

  @Whole({ example: 12 })
  documentCount: number;

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @Text({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

export function toKnowledgeView(
  { tenantId: _, ...knowledge }: KnowledgeBase,
  documentCount: number,
): KnowledgeView {
  return {
    ...knowledge,
    description: knowledge.description ?? '',
    separator: knowledge.separator ?? '',
    rerankModel: knowledge.rerankModel ?? '',
    remark: knowledge.remark ?? '',
    documentCount,
    createTime: wireTime(knowledge.createTime),
    updateTime: wireTime(knowledge.updateTime),
  };
}
