import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import {
  anyOf,
  containing,
  createdWithin,
  Database,
  TenantScoped,
} from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { ChatMessage, endedStates } from '../message.entity.js';
import type { Exchange, FeedbackListQuery } from './feedback.dto.js';
import { Feedback } from './feedback.entity.js';
import type { Vote } from './feedback.entity.js';

const PUT = `
  INSERT INTO chat_feedback (tenant_id, user_id, message_id, vote, comment, agent_id, model_name)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (tenant_id, message_id, user_id) DO UPDATE
     SET vote = EXCLUDED.vote, comment = EXCLUDED.comment, update_time = now()`;

/** Feedback with its answers and questions. */
@Injectable()
export class FeedbackRepository {
  readonly feedback: TenantScoped<Feedback>;
  private readonly messages: TenantScoped<ChatMessage>;

  constructor(private readonly database: Database) {
    this.feedback = new TenantScoped(database, Feedback, msg`The feedback`);
    this.messages = new TenantScoped(database, ChatMessage, msg`The chat message`);
  }

  /** A finished message of the caller. */
  async message({ tenantId, userId }: Caller, id: number): Promise<ChatMessage> {
    return this.messages.get(tenantId, id, { userId, state: anyOf(endedStates) });
  }

  async put(
    { tenantId, userId }: Caller,
    answer: ChatMessage,
    rating: { readonly vote: Vote; readonly comment: string | null },
  ): Promise<void> {
    const { id, agentId, modelName } = answer;
    const values = [tenantId, userId, id, rating.vote, rating.comment, agentId, modelName];
    await this.database.query(PUT, values);
  }

  /** Removes the caller's feedback on a message, or throws NotFoundError. */
  async remove({ tenantId, userId }: Caller, messageId: number): Promise<void> {
    const ownFeedback = await this.feedback.findOne(tenantId, { userId, messageId });
    if (!ownFeedback) throw new NotFoundError(msg`The feedback`);
    await this.feedback.remove(tenantId, [ownFeedback.id], { userId });
  }

  /** The caller's feedback by message id. */
  async ofCaller(
    { tenantId, userId }: Caller,
    messageIds: readonly number[],
  ): Promise<ReadonlyMap<number, Feedback>> {
    if (messageIds.length === 0) return new Map();
    const ownFeedback = await this.feedback.find(tenantId, {
      userId,
      messageId: anyOf(messageIds),
    });
    return new Map(ownFeedback.map((one) => [one.messageId, one]));
  }

  async page(tenantId: string, query: FeedbackListQuery): Promise<Page<Feedback>> {
    const { vote, agentId, modelName, params } = query;
    const where = {
      ...(vote && { vote }),
      ...(agentId && { agentId }),
      ...(modelName && { modelName: containing(modelName) }),
      ...createdWithin(params),
    };
    return this.feedback.page(tenantId, query, where, { id: 'DESC' });
  }

  /** Names of the tenant's users by id; a super administrator of another tenant has none here. */
  async userNames(
    tenantId: string,
    userIds: readonly number[],
  ): Promise<ReadonlyMap<number, string>> {
    const rows = await this.database.query<{ id: number; user_name: string }>(
      'SELECT id, user_name FROM user_account WHERE tenant_id = $1 AND id = ANY($2::bigint[])',
      [tenantId, userIds],
    );
    return new Map(rows.map((row) => [row.id, row.user_name]));
  }

  /** Answers with their questions, by answer id. */
  async exchanges(
    tenantId: string,
    feedback: readonly Feedback[],
  ): Promise<ReadonlyMap<number, Exchange>> {
    const answers = await this.byIds(
      tenantId,
      feedback.map(({ messageId }) => messageId),
    );
    const parents = await this.byIds(
      tenantId,
      answers.flatMap(({ parentId }) => parentId ?? []),
    );
    const questions = new Map(
      parents.filter(({ role }) => role === 'user').map(({ id, content }) => [id, content]),
    );
    return new Map(
      answers.map((answer) => {
        const question = questions.get(answer.parentId ?? 0) ?? null;
        return [answer.id, { answer, question }];
      }),
    );
  }

  private async byIds(tenantId: string, ids: readonly number[]): Promise<ChatMessage[]> {
    return ids.length === 0 ? [] : this.messages.find(tenantId, { id: anyOf(ids) });
  }
}
