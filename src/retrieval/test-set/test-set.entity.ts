import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** Something that a query should find, and how well it answers: 1 somewhat, 2 well, 3 perfectly. */
export type Expected =
  | { readonly docId: string; readonly relevance: number }
  | { readonly fid: string; readonly relevance: number };

/** One question of a knowledge base's test set, with what should be found. */
@Entity({ name: 'knowledge_test_query' })
export class TestQuery {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  /** Names the query within its test set, also in the files of an export; unique there. */
  @Column({ type: 'varchar', length: 200 })
  queryId: string;

  @Column({ type: 'text' })
  query: string;

  /** Each document and each fragment once, at least one. */
  @Column({ type: 'jsonb' })
  expected: Expected[];

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** The settings that were measured: those of the retrieval, and those by which the fragments were made. */
export interface MeasuredSettings {
  readonly topK: number;
  readonly threshold: number;
  readonly enableHybrid: boolean;
  readonly hybridAlpha: number;
  readonly enableRerank: boolean;
  readonly rerankModel: string;
  readonly embeddingModel: string;
  readonly textBlockSize: number;
  readonly overlapChar: number;
}

/** What one query of a test set came to. */
export interface QueryResult {
  readonly queryId: string;
  readonly ndcg: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  /** The places of what was expected, from 1. */
  readonly places: readonly number[];
}

/** One run of a whole test set. */
@Entity({ name: 'knowledge_evaluation' })
export class Evaluation {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  /** Who ran it; null when the user is gone. */
  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  @Column({ type: 'jsonb' })
  settings: MeasuredSettings;

  /** How many places counted. */
  @Column({ type: 'integer' })
  k: number;

  @Column({ type: 'integer' })
  queryCount: number;

  @Column({ type: 'double precision' })
  ndcg: number;

  @Column({ type: 'double precision' })
  recall: number;

  @Column({ type: 'double precision' })
  mrr: number;

  /** Of every query, so many that they are read only when they are asked for. */
  @Column({ type: 'jsonb', select: false })
  results: QueryResult[];

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
