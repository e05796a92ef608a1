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

/** What a user thinks of an answer: one for each user and answer. */
@Entity({ name: 'chat_feedback' })
export class Feedback {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  /** The answer, which takes its feedback with it when it is deleted. */
  @Bigint() messageId: number;
  @Varchar(10) vote: Vote;
  @Varchar(2_000, nullable) comment: string | null;
  /** The agent and the model that wrote the answer. */
  @Bigint(nullable) agentId: number | null;
  @Varchar(200, nullable) modelName: string | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
