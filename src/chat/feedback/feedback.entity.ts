import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  TenantId,
  UpdateTime,
  Varchar,
  nullable,
} from '../../platform/database/index.js';

export type Vote = 'up' | 'down';

export const votes: readonly Vote[] = ['up', 'down'];

/** A user's vote on an answer; one per user and answer. */
@Entity({ name: 'chat_feedback' })
export class Feedback {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  /** The answer. Deleting it deletes the feedback. */
  @Bigint() messageId: number;
  @Varchar(10) vote: Vote;
  @Varchar(2_000, nullable) comment: string | null;
  /** The agent and the model that wrote the answer. */
  @Bigint(nullable) agentId: number | null;
  @Varchar(200, nullable) modelName: string | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
