import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  nullable,
  primary,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
} from '../platform/database/index.js';
import type { Message } from '../platform/message/index.js';

/** push: a program puts documents over the API. The others are connectors that run here. */
export const SOURCE_KINDS = ['push', 'web', 'git', 's3'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Kinds that run in this service. */
export const CONNECTOR_KINDS = ['web', 'git', 's3'] as const satisfies readonly SourceKind[];

/** What a connector reads; a source of a program has none. */
export interface SourceSettings {
  readonly address?: string;
  readonly maxPages?: number;
  /** Links from the start of a web site to a page. */
  readonly maxDepth?: number;
  /** Null: that of the repository. */
  readonly branch?: string | null;
  /** The folder of the repository or bucket whose files belong to the source; empty for all. */
  readonly folder?: string;
  /** Patterns of paths below the folder. */
  readonly patterns?: string[];
}

/** A place outside of Plinth whose documents are kept in a knowledge base. */
@Entity({ name: 'knowledge_source' })
export class KnowledgeSource {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;
  /** The user who has made it, with whose rights its connector runs; null once they are deleted. */
  @Bigint(nullable) userId: number | null;
  /** Unique in the base. */
  @Varchar(100) name: string;
  @Varchar(20) kind: SourceKind;
  @Jsonb({ default: {} }) settings: SourceSettings;
  /** The sealed token of a connector. */
  @Text(nullable) secret: string | null;
  @Varchar(100, nullable) cron: string | null;
  @Varchar(64, nullable) timeZone: string | null;
  @Flag({ default: false }) paused: boolean;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** refused: its owner lacked the right. replaced: another run began before it ended. */
export const RUN_STATES = ['open', 'done', 'failed', 'refused', 'replaced'] as const;
export type RunState = (typeof RUN_STATES)[number];
export const RUN_TRIGGERS = ['push', 'manual', 'schedule'] as const;
export type RunTrigger = (typeof RUN_TRIGGERS)[number];

/** What happened to one document of a run. */
export interface RunError {
  readonly externalId: string;
  readonly message: Message;
}

/** One pass of a source over its documents. At most one of a source is open. */
@Entity({ name: 'source_run' })
export class SourceRun {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() sourceId: number;
  /** Names the run to the program that completes it. */
  @Uuid() cursor: string;
  /** The time of the schedule that it is for; otherwise when it was requested. */
  @Timestamp() dueAt: Date;
  @Varchar(10) trigger: RunTrigger;
  @Varchar(10, { default: 'open' }) state: RunState;
  @Jsonb(nullable) failure: Message | null;
  @Integer({ default: 0 }) createdCount: number;
  @Integer({ default: 0 }) changedCount: number;
  @Integer({ default: 0 }) unchangedCount: number;
  @Integer({ default: 0 }) removedCount: number;
  @Integer({ default: 0 }) failedCount: number;
  /** The first failures. */
  @Jsonb({ default: [] }) errors: readonly RunError[];
  @Integer({ default: 0 }) attempts: number;
  /** Names the process that runs the connector. */
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Timestamp() beganAt: Date;
  @Timestamp(nullable) endedAt: Date | null;
}

/** A reader of a document that no user or group has the name of yet. */
@Entity({ name: 'source_reader' })
export class SourceReader {
  @Bigint(primary) attachmentId: number;
  @Varchar(10, primary) kind: 'user' | 'group';
  @Varchar(320, primary) name: string;
  @TenantId() tenantId: string;
}
