import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Integer,
  Json,
  nullable,
  primary,
  Smallint,
  TenantId,
  Text,
  Timestamp,
  Uuid,
  Varchar,
} from '../../platform/database/index.js';

/** The interface that a batch was made through, and whose form its results have. */
export type BatchProtocol = 'openai' | 'messages';

/** In the words of OpenAI. Only the first four are of a batch that has not ended. */
export type BatchStatus =
  | ('validating' | 'in_progress' | 'finalizing' | 'cancelling')
  | ('failed' | 'completed' | 'expired' | 'cancelled');

/** Why the file of a batch was refused. */
export interface BatchProblem {
  readonly code: string;
  /** From 1; null where it is of the whole file. */
  readonly line: number | null;
  readonly message: string;
  readonly param: string | null;
}

/** Tokens of all answers of a batch. */
export interface BatchUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A list of requests that are answered in the background, its user's alone. */
@Entity({ name: 'api_batch' })
export class ApiBatch {
  /** In the order of the lists. */
  @GeneratedId() number: number;
  @Varchar(50) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(20) homeTenantId: string;
  /** Null: its lines have the rights of the user. */
  @Bigint(nullable) apiKeyId: number | null;
  @Varchar(10) protocol: BatchProtocol;
  /** The path of its requests. */
  @Varchar(50) endpoint: string;
  @Json() headers: Readonly<Record<string, string>>;
  @Json(nullable) metadata: Readonly<Record<string, string>> | null;
  /** Null: its lines name several, or none. */
  @Varchar(200, nullable) modelName: string | null;
  @Varchar(20) status: BatchStatus;
  @Json(nullable) errors: readonly BatchProblem[] | null;
  @Varchar(50, nullable) inputFile: string | null;
  @Varchar(50, nullable) outputFile: string | null;
  @Varchar(50, nullable) errorFile: string | null;
  @Integer(nullable) outputSeconds: number | null;
  @Integer() totalCount: number;
  @Integer() succeededCount: number;
  @Integer() erroredCount: number;
  @Integer() canceledCount: number;
  @Integer() expiredCount: number;
  @Json(nullable) usage: BatchUsage | null;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) beginTime: Date | null;
  @Timestamp(nullable) finalizeTime: Date | null;
  @Timestamp(nullable) cancelTime: Date | null;
  @Timestamp(nullable) endTime: Date | null;
  @Timestamp() expireTime: Date;
  /** No line begins before, because a limit was reached. */
  @Timestamp() dueTime: Date;
  /** When a line last began: batches take turns. */
  @Timestamp() servedTime: Date;
  /** Of the process that reads its file or writes its results. */
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
}

export type EndedLineStatus = 'succeeded' | 'errored' | 'canceled' | 'expired';

/** One request of a batch, and its answer. */
@Entity({ name: 'api_batch_line' })
export class ApiBatchLine {
  @Bigint(primary) batchNumber: number;
  /** From 0. */
  @Integer(primary) position: number;
  @TenantId() tenantId: string;
  @Varchar(512) customId: string;
  /** JSON of the body; null once the line has ended. */
  @Text(nullable) request: string | null;
  @Varchar(10) status: 'waiting' | 'running' | EndedLineStatus;
  /** How often it has begun without being put back. */
  @Smallint() attempts: number;
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Smallint(nullable) statusCode: number | null;
  @Varchar(50, nullable) requestId: string | null;
  /** JSON of the answer or the error. */
  @Text(nullable) response: string | null;
}
