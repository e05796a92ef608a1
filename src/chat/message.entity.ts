import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  TenantId,
  Text,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../platform/database/index.js';
import type { ProviderState } from '../provider/index.js';
import type { AskedCall, CallState, DecidedCall, SourceReference } from '../agent/index.js';
import type { ChatFile } from './file/chat-file.js';
import type { Message } from '../platform/message/index.js';

export type MessageRole = 'user' | 'assistant' | 'system';

/**
 * How an answer ended: finished by the model, stopped by the service or its user, or failed; `waiting` goes on when its user has
 * decided about calls of tools.
 */
export type MessageState = 'complete' | 'stopped' | 'failed' | 'waiting';

export const endedStates: readonly MessageState[] = ['complete', 'stopped', 'failed', 'waiting'];

/** State of an unfinished answer. The row has the text so far and is only read by TurnRepository. */
export const WRITING = 'writing';

/** A source of a stored answer. */
export interface StoredSource extends SourceReference {
  readonly cited: boolean;
}

/** A request as its turn goes on with it. */
export type StoredRequest = Readonly<Record<string, unknown>>;

/** One message of a conversation; a question and its answer share the turn id. */
@Entity({ name: 'chat_message' })
export class ChatMessage {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Bigint(nullable) sessionId: number | null;
  /** The message before this one; null for a first one. */
  @Bigint(nullable) parentId: number | null;
  @Uuid(nullable) turnId: string | null;
  @Varchar(20) role: MessageRole;
  @Text() content: string;
  @Text(nullable) reasoning: string | null;
  /** Provider state of the last text. Only turns read it; it is never shown. */
  @Jsonb({ ...nullable, select: false }) providerState?: ProviderState | null;
  @Varchar(200, nullable) modelName: string | null;
  /** The agent that wrote the answer. */
  @Bigint(nullable) agentId: number | null;
  @Varchar(20, { default: 'complete' }) state: MessageState;
  @Varchar(40, nullable) finishReason: string | null;
  @Jsonb(nullable) error: Message | null;
  @Integer(nullable) inputTokens: number | null;
  @Integer(nullable) outputTokens: number | null;
  @Integer({ default: 0 }) totalTokens: number;
  @Flag({ default: false }) usageEstimated: boolean;

  /** The content is JSON that was checked against the schema of its turn. */
  @Flag({ default: false }) structured: boolean;
  @Integer(nullable) firstTokenMs: number | null;
  @Integer(nullable) durationMs: number | null;

  /** The fragments that were sent to the model, and whether the answer cites them; null without retrieval. */
  @Jsonb(nullable) sources: StoredSource[] | null;
  /** Files of the question; null without files. */
  @Jsonb(nullable) files: ChatFile[] | null;
  /** The request of a waiting answer without its content, with which the turn goes on. */
  @Jsonb({ ...nullable, select: false }) request?: StoredRequest | null;
  /** The trace of the turn; null where it was not recorded. */
  @Varchar(32, nullable) traceId: string | null;
  @Varchar(200, nullable) idempotencyKey: string | null;
  @Char(64, nullable) requestHash: string | null;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
}

/** What a person is asked about a call. */
export type CallApproval = Omit<AskedCall, 'number' | 'effectId'>;

/**
 * A tool call with its result. The state is stored as `running` until the call has ended, and shown as `interrupted` if it never
 * has; `waiting` for a person. Of a call with an `effectId` the ledger knows the outcome.
 */
export interface StoredCall extends DecidedCall {
  readonly state: CallState | 'running' | 'interrupted' | 'waiting';
  readonly approval?: CallApproval | undefined;
  readonly summary: string;
  /** Result as read by the model. */
  readonly content: string;
  readonly durationMs: number | null;
}

/** One answer of the model that called tools. The answer of the turn has its steps and then its last text. */
@Entity({ name: 'chat_step' })
export class ChatStep {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) messageId: number;
  /** Number of the step, from 1. */
  @Integer(primary) number: number;
  @Text() text: string;
  @Text(nullable) reasoning: string | null;
  @Jsonb() calls: StoredCall[];
  /** Provider state; never shown. */
  @Jsonb(nullable) providerState: ProviderState | null;
  /** Null if the provider did not report it. */
  @Integer(nullable) inputTokens: number | null;
  @Integer(nullable) outputTokens: number | null;
  @CreateTime() createTime: Date;
}

/** A step of a turn, as it is stored. */
export type StoredStep = Pick<
  ChatStep,
  'number' | 'text' | 'reasoning' | 'calls' | 'providerState' | 'inputTokens' | 'outputTokens'
>;
