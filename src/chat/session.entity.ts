import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../platform/database/index.js';

/** A conversation of one user. During a turn it has the turn's id and lease. */
@Entity({ name: 'chat_session' })
export class ChatSession {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(255) sessionTitle: string;
  @Text() sessionContent: string;
  @Varchar(64, nullable) conversationId: string | null;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
  /** The last message of the current branch; during a turn the question that is being answered. */
  @Bigint({ nullable: true, select: false }) leafId: number | null;
  /** False while the messages form one branch, in the order of their ids. */
  @Flag({ default: false, select: false }) branched: boolean;
  @Uuid(nullable) turnId: string | null;
  @Timestamp(nullable) turnLease: Date | null;
  /** The process that answers the turn. */
  @Varchar(200, { nullable: true, select: false }) turnProcess: string | null;
  @Flag({ default: false, select: false }) stopRequested: boolean;
  /** In no list, and removed within a day. Its user knows its id. */
  @Flag({ default: false }) temporary: boolean;
}

/** The lease of a running turn without a session, keyed by its question. A turn in a session stores its lease in the session. */
@Entity({ name: 'chat_turn_lease' })
export class TurnLease {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) questionId: number;
  @Timestamp() lease: Date;
  /** The process that answers the turn. */
  @Varchar(200, nullable) process: string | null;
}
