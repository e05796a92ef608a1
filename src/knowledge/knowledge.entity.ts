import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Double,
  Flag,
  GeneratedId,
  Integer,
  Smallint,
  Revision,
  TenantId,
  Timestamp,
  UpdateTime,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** `adjacent`: those before and after it; `section`: those of its section. */
export const neighbourModes = ['none', 'adjacent', 'section'] as const;
export type NeighbourMode = (typeof neighbourModes)[number];

/** A knowledge base: the settings by which its attachments are split, embedded and searched. */
@Entity({ name: 'knowledge_base' })
export class KnowledgeBase {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** The owner; null when the user was deleted. */
  @Bigint(nullable) userId: number | null;
  /** The chat session whose files it holds; null for an ordinary base. Only the owner may read such a base. */
  @Bigint(nullable) sessionId: number | null;
  @Varchar(50) name: string;

  /** 1: every user of the tenant may read it. */
  @Smallint({ default: 0 }) share: number;
  @Varchar(1000, nullable) description: string | null;

  /** As entered; the two characters \n mean a line feed. */
  @Varchar(255, nullable) separator: string | null;
  @Integer({ default: 50 }) overlapChar: number;
  /** False: the overlap follows the block size. */
  @Flag({ default: false }) overlapChosen: boolean;
  @Integer({ default: 1000 }) textBlockSize: number;
  @Integer({ default: 10 }) retrieveLimit: number;
  @Double({ default: () => '0.2' }) similarityThreshold: number;

  /** Code of the vector store as entered (docs/WIRE.md, Knowledge bases). */
  @Varchar(50, { default: '' }) vectorModel: string;

  /** Code of the store that holds its vectors; null before the first ones. Only parsing all documents again changes it. */
  @Varchar(20, nullable) vectorStore: string | null;

  /** modelName of a model of category vector. */
  @Varchar(200, { default: '' }) embeddingModel: string;
  @Smallint({ default: 1 }) enableHybrid: number;

  /** Weight of the keyword channel, 0 to 1. */
  @Double({ default: () => '0.5' }) hybridAlpha: number;
  @Smallint({ default: 0 }) enableRerank: number;
  @Varchar(200, nullable) rerankModel: string | null;
  @Integer(nullable) rerankTopN: number | null;
  @Double(nullable) rerankScoreThreshold: number | null;
  /** The fragments around a hit that the model gets with it, and how many characters of them at most. */
  @Varchar(20, { default: 'none' }) neighbours: NeighbourMode;
  @Integer({ default: 2000 }) neighbourCharacters: number;
  /** What its words are stemmed by: `auto`, or a text search configuration of PostgreSQL. */
  @Varchar(20, { default: 'auto' }) language: string;

  /** 1: pages without text, and image files, are read by text recognition. */
  @Smallint({ default: 0 }) enableOcr: number;

  /** modelName of a chat model that sees images; without one, the system's tesseract reads them. */
  @Varchar(200, nullable) ocrModel: string | null;

  /** modelName of the chat model that writes a line of context for each fragment; without one, there is none. */
  @Varchar(200, nullable) contextModel: string | null;
  @Varchar(500, nullable) remark: string | null;

  /** Since when vectors of its fragments are known to be missing in the vector store; null when none is. */
  @Timestamp(nullable) vectorsLostAt: Date | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}
