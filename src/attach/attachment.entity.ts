import { Entity } from 'typeorm';
import type { StoredMetadata } from '../metadata/index.js';
import {
  Bigint,
  Bytea,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  Smallint,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../platform/database/index.js';
import type { Message } from '../platform/message/index.js';

/** Values of `status` on the wire. A cancelled document is failed, with that reason in `failure`. */
export const AttachmentStatus = { pending: 0, parsing: 1, parsed: 2, failed: 3 } as const;

/**
 * One uploaded file of a knowledge base. The row is the truth about its parsing: who requested it (parseRequested,
 * requestedBy), which worker runs it (the lease) and how it ended (status, failure).
 */
@Entity({ name: 'attachment' })
export class Attachment {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;
  @Bigint(nullable) userId: number | null;

  /** Random; names the document to clients and never changes. */
  @Varchar(32) docId: string;

  /** The stored file; null once it is removed by hand. */
  @Bigint(nullable) ossId: number | null;

  /** SHA-256 of the content, lower-case hex. */
  @Char(64) fileHash: string;
  @Varchar(500) name: string;

  /** The suffix with its dot, such as `.pdf`. */
  @Varchar(50) type: string;
  @Bigint() byteSize: number;

  /** The text encoding that was found, for files that are text. */
  @Varchar(40, nullable) encoding: string | null;
  @Smallint({ default: AttachmentStatus.pending }) status: number;

  /** Cause of a failure; null without one. */
  @Jsonb(nullable) failure: Message | null;

  /** Remark of a user. */
  @Varchar(500, nullable) remark: string | null;
  @Integer({ default: 0 }) fragmentCount: number;

  /** Fragments embedded so far, of progressTotal. */
  @Integer({ default: 0 }) progressDone: number;
  @Integer(nullable) progressTotal: number | null;

  /** Pages read by text recognition, of ocrTotal; null where it reads none. */
  @Integer({ default: 0 }) ocrDone: number;
  @Integer(nullable) ocrTotal: number | null;

  /** Fragments whose context is written, of progressTotal. */
  @Integer({ default: 0 }) contextDone: number;

  /** Tokens that chat models took for the last parsing. */
  @Bigint({ default: 0 }) inputTokens: number;
  @Bigint({ default: 0 }) outputTokens: number;

  /** Cause of the wait, such as a provider that asked to slow down. */
  @Jsonb(nullable) waitingFor: Message | null;

  /** Whether a requested parsing has not ended. Only such rows are swept. */
  @Flag({ default: false }) parseRequested: boolean;

  /** Whether the vectors were lost: the requested parsing makes them again and keeps the fragments. */
  @Flag({ default: false }) vectorsOnly: boolean;

  /** The user on whose behalf it is parsed; 0 for the service itself. */
  @Bigint(nullable) requestedBy: number | null;

  /** The tenant of that user, who may be a super administrator acting in this one. */
  @Varchar(20, nullable) requestedHome: string | null;
  @Timestamp(nullable) requestedAt: Date | null;

  /** Earliest time of the next attempt. */
  @Timestamp(nullable) dueAt: Date | null;
  @Integer({ default: 0 }) attempts: number;

  /** Time since which its source or a required service is unavailable, as seen by the attempts. */
  @Timestamp(nullable) awaitedSince: Date | null;

  /** Token of the worker that may write; a worker that lost it stops. */
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Timestamp(nullable) parsedAt: Date | null;

  /** Whether it has a list of readers, its grants, whatever those are: a list without any lets no reader in. */
  @Flag({ default: false }) restricted: boolean;

  /** The source that has put it (src/source), and its id there; null for a document that a person has added. */
  @Bigint(nullable) sourceId: number | null;
  @Varchar(2_000, nullable) externalId: string | null;
  /** The mark of its content at the source; null where the source sends none. */
  @Varchar(500, nullable) etag: string | null;
  @Timestamp(nullable) seenAt: Date | null;

  /** Keys and values that people give it. A date has its milliseconds since the epoch beside its text. */
  @Jsonb({ default: {} }) metadata: StoredMetadata;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** The vectors of one batch of a document whose parsing has not ended. */
@Entity({ name: 'embedded_batch' })
export class EmbeddedBatch {
  @Bigint(primary) attachmentId: number;

  /** SHA-256 of the model and the texts. */
  @Char(64, primary) digest: string;
  @TenantId() tenantId: string;

  /** Little-endian 32-bit floats, one vector after the other. */
  @Bytea() vectors: Buffer;
  @CreateTime() createTime: Date;
}

/** Answer of a model for a document whose parsing has not ended. */
@Entity({ name: 'model_answer' })
export class ModelAnswer {
  @Bigint(primary) attachmentId: number;

  /** SHA-256 of the model and what it was asked. */
  @Char(64, primary) digest: string;
  @TenantId() tenantId: string;
  @Text() text: string;
  @Bigint() inputTokens: number;
  @Bigint() outputTokens: number;
  @CreateTime() createTime: Date;
}
