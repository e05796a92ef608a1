import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  Integer,
  Jsonb,
  TenantId,
  Text,
  Timestamp,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../platform/database/index.js';
import type { Message } from '../platform/message/index.js';
import type {
  ApprovalPreview,
  ApprovalState,
  Decision,
  GrantKind,
  GrantSubject,
} from './consent.js';
import type {
  EffectClass,
  EffectState,
  FileOperation,
  Resolution,
  SeenFile,
  TurnEffectClass,
} from './effect.state.js';

/** One tool call of a run or of a chat turn, and its outcome. Stored before the call starts. */
@Entity({ name: 'harness_effect' })
export class Effect {
  @Uuid(primary) toolCallId: string;
  @TenantId() tenantId: string;
  @Uuid(nullable) sessionId: string | null;
  @Uuid(nullable) runId: string | null;
  /** The turn of a chat. */
  @Uuid(nullable) turnId: string | null;
  /** The stored message of the turn, with which the call is deleted. */
  @Bigint(nullable) messageId: number | null;
  /** The user of the turn. */
  @Bigint(nullable) userId: number | null;
  @Integer() iteration: number;
  @Integer() ordinal: number;
  @Varchar(200) providerCallId: string;
  @Varchar(100) toolName: string;
  @Varchar(10) effectClass: EffectClass | TurnEffectClass;
  @Text() argumentsJson: string;
  @Char(64) argumentsSha256: string;
  @Jsonb() input: Readonly<Record<string, unknown>>;
  @Varchar(20) state: EffectState;
  @Integer(nullable) fence: number | null;
  @Varchar(100, nullable) boot: string | null;
  @Jsonb() operations: readonly FileOperation[];
  @Char(64, nullable) snapshotSha256: string | null;
  @Jsonb() reads: readonly SeenFile[];
  @Text(nullable) result: string | null;
  @Varchar(60, nullable) errorCode: string | null;
  @Integer(nullable) exitCode: number | null;
  @Uuid(nullable) artifactId: string | null;
  @Flag() reconciled: boolean;

  /** A person's finding about the call after its outcome was unknown. */
  @Varchar(20, nullable) resolution: Resolution | null;
  @Bigint(nullable) resolvedBy: number | null;
  @Varchar(4000, nullable) note: string | null;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) startedAt: Date | null;
  @Timestamp(nullable) endedAt: Date | null;
}

/** A tool call that waits for, or got, the consent of a person; bound to its exact input. */
@Entity({ name: 'harness_approval' })
export class Approval {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid(nullable) sessionId: string | null;
  @Uuid(nullable) runId: string | null;
  @Uuid(nullable) turnId: string | null;
  @Bigint(nullable) messageId: number | null;
  @Bigint() userId: number;
  @Uuid() toolCallId: string;
  @Varchar(100) toolName: string;

  /** Made by the server from the arguments. */
  @Varchar(2000) summary: string;

  /** The model's own words about the call. */
  @Text(nullable) modelDescription: string | null;
  @Jsonb() preview: ApprovalPreview;
  @Text() argumentsJson: string;
  @Char(64) argumentsSha256: string;
  @Char(64) subjectHash: string;
  @Flag() grantable: boolean;

  /** Grants that APPROVE_SESSION gives; empty when it cannot be chosen. */
  @Jsonb() grants: readonly GrantSubject[];

  /** Notes for the approver, such as that the changes cannot be undone. */
  @Jsonb() notes: readonly Message[];
  @Varchar(10) state: ApprovalState;
  @Integer() revision: number;
  @Varchar(20, nullable) decision: Decision | null;
  @Varchar(256, nullable) decisionId: string | null;
  @Varchar(4000, nullable) note: string | null;
  @Bigint(nullable) decidedBy: number | null;
  @Timestamp(nullable) decidedAt: Date | null;
  @Timestamp() expiresAt: Date;
  @CreateTime() createTime: Date;
}

/** A consent that holds for the rest of a session or chat: for one path, one exact command or one tool. */
@Entity({ name: 'harness_grant' })
export class ConsentGrant {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid(nullable) sessionId: string | null;
  @Bigint(nullable) chatSessionId: number | null;
  @Varchar(10) kind: GrantKind;
  @Char(64) subjectHash: string;
  @Text() subject: string;
  @Uuid() approvalId: string;
  @Bigint() grantedBy: number;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) revokedAt: Date | null;
  @Bigint(nullable) revokedBy: number | null;
}

/** The run of a harness session. */
export interface RunKey {
  readonly tenantId: string;
  readonly id: string;
}

/** A run with what its calls are stored with. */
export interface RunOwner extends RunKey {
  readonly sessionId: string;
  readonly userId: number;
}

/** The turn of a chat, or of a request whose messages are not stored. */
export interface TurnOwner {
  readonly tenantId: string;
  readonly turnId: string;
  readonly userId: number;
  /** The stored message with which the calls are deleted; null where nothing is stored. */
  readonly messageId: number | null;
}

/** What tool calls belong to. */
export type EffectOwner = RunOwner | TurnOwner;

type OfRun<Row> = Row & { readonly sessionId: string; readonly runId: string };

export type RunEffect = OfRun<Effect> & { readonly effectClass: EffectClass };
export type RunApproval = OfRun<Approval>;
export type SessionGrant = ConsentGrant & {
  readonly sessionId: string;
  readonly kind: Exclude<GrantKind, 'TOOL'>;
};
