import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** An expected result of a query, with its relevance: 1 somewhat, 2 well, 3 perfectly. */
export type Expected =
  | { readonly docId: string; readonly relevance: number }
  | { readonly fid: string; readonly relevance: number };

/** One query of a knowledge base's test set, with its expected results. */
@Entity({ name: 'knowledge_test_query' })
export class TestQuery {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  knowledgeId: number;

  /** The id of the query in its test set and in exported files; unique in the test set. */
  @Column({ type: 'varchar', length: 200 })
  queryId: string;

  @Column({ type: 'text' })
  query: string;

  /** At least one; without duplicates. */
  @Column({ type: 'jsonb' })
  expected: Expected[];

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** The measured settings: those of the retrieval, and those of the splitting. */
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

/** The result of one query of a test set. */
export interface QueryResult {
  readonly queryId: string;
  readonly ndcg: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  /** The ranks of the expected results, from 1. */
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

  /** Who ran it; null when the user was deleted. */
  @Column({ type: 'bigint', nullable: true })
  userId: number | null;

  @Column({ type: 'jsonb' })
  settings: MeasuredSettings;

  /** The cut-off k of the metrics. */
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

  /** Of every query; read only on request, because of its size. */
  @Column({ type: 'jsonb', select: false })
  results: QueryResult[];

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
