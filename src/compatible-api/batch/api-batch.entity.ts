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

/** The API through which a batch was created; it determines the format of the results. */
export type BatchProtocol = 'openai' | 'messages';

/** OpenAI's statuses. A batch with one of the first four has not ended. */
export type BatchStatus =
  | ('validating' | 'in_progress' | 'finalizing' | 'cancelling')
  | ('failed' | 'completed' | 'expired' | 'cancelled');

/** Why the file of a batch was refused. */
export interface BatchProblem {
  readonly code: string;
  /** Line number from 1; null for the whole file. */
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

/** Requests answered in the background, visible only to their owner. */
@Entity({ name: 'api_batch' })
export class ApiBatch {
  /** Sequence number that orders lists. */
  @GeneratedId() number: number;
  @Varchar(50) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(20) homeTenantId: string;
  /** Null gives the lines the rights of the user. */
  @Bigint(nullable) apiKeyId: number | null;
  @Varchar(10) protocol: BatchProtocol;
  /** The path of the requests. */
  @Varchar(50) endpoint: string;
  @Json() headers: Readonly<Record<string, string>>;
  @Json(nullable) metadata: Readonly<Record<string, string>> | null;
  /** Null if the lines name several models, or none. */
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
  /** No line starts before this time, because a limit was reached. */
  @Timestamp() dueTime: Date;
  /** Last start of a line, for round robin between batches. */
  @Timestamp() servedTime: Date;
  /** Lease of the process that reads the file or writes the results. */
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
}

export type EndedLineStatus = 'succeeded' | 'errored' | 'canceled' | 'expired';

/** One request of a batch, and its answer. */
@Entity({ name: 'api_batch_line' })
export class ApiBatchLine {
  @Bigint(primary) batchNumber: number;
  /** Position from 0. */
  @Integer(primary) position: number;
  @TenantId() tenantId: string;
  @Varchar(512) customId: string;
  /** JSON of the body; null once the line has ended. */
  @Text(nullable) request: string | null;
  @Varchar(10) status: 'waiting' | 'running' | EndedLineStatus;
  /** Number of attempts that count. */
  @Smallint() attempts: number;
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Smallint(nullable) statusCode: number | null;
  @Varchar(50, nullable) requestId: string | null;
  /** JSON of the answer or the error. */
  @Text(nullable) response: string | null;
}
