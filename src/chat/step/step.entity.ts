import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Integer,
  Jsonb,
  primary,
  TenantId,
  Text,
  nullable,
} from '../../platform/database/index.js';
import type { CallState, DecidedCall } from '../../agent/index.js';
import type { ProviderState } from '../../provider/index.js';

/** A tool call with its result. The state is stored as `running` until the call has ended, and shown as `interrupted` if it never has. */
export interface StoredCall extends DecidedCall {
  readonly state: CallState | 'running' | 'interrupted';
  readonly summary: string;
  /** What the model read. */
  readonly content: string;
  readonly durationMs: number | null;
}

/** One answer of the model that called tools. The answer of the turn has its steps and then its last text. */
@Entity({ name: 'chat_step' })
export class ChatStep {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) messageId: number;
  /** From 1. */
  @Integer(primary) number: number;
  @Text() text: string;
  @Text(nullable) reasoning: string | null;
  @Jsonb() calls: StoredCall[];
  /** What the service wants back with the answer; never shown. */
  @Jsonb(nullable) providerState: ProviderState | null;
  /** Null where the provider did not count. */
  @Integer(nullable) inputTokens: number | null;
  @Integer(nullable) outputTokens: number | null;
  @CreateTime() createTime: Date;
}

/** A step of a turn, as it is stored. */
export type StoredStep = Pick<
  ChatStep,
  'number' | 'text' | 'reasoning' | 'calls' | 'providerState' | 'inputTokens' | 'outputTokens'
>;
