import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Double,
  GeneratedId,
  Integer,
  Jsonb,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';

/** An expected result of a query, with its relevance: 1 somewhat, 2 well, 3 perfectly. */
export type Expected =
  | { readonly docId: string; readonly relevance: number }
  | { readonly fid: string; readonly relevance: number };

/** One query of a knowledge base's test set, with its expected results. */
@Entity({ name: 'knowledge_test_query' })
export class TestQuery {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;

  /** The id of the query in its test set and in exported files; unique in the test set. */
  @Varchar(200) queryId: string;
  @Text() query: string;

  /** Expected results: at least one, without duplicates. */
  @Jsonb() expected: Expected[];
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
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
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;

  /** User who ran it; null when the user was deleted. */
  @Bigint(nullable) userId: number | null;
  @Jsonb() settings: MeasuredSettings;

  /** The cut-off k of the metrics. */
  @Integer() k: number;
  @Integer() queryCount: number;
  @Double() ndcg: number;
  @Double() recall: number;
  @Double() mrr: number;

  /** Results of every query; read only on request, because of their size. */
  @Jsonb({ select: false }) results: QueryResult[];
  @CreateTime() createTime: Date;
}
