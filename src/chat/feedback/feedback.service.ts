import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { InvalidInputError, NotFoundError } from '../../platform/error/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import { TestSetService } from '../../retrieval/index.js';
import type { TestQueryView } from '../../retrieval/index.js';
import { ChatRetentionRepository } from '../chat-retention.repository.js';
import { toFeedbackView } from './feedback.dto.js';
import type { Exchange, FeedbackBody, FeedbackListQuery, FeedbackView } from './feedback.dto.js';
import type { Feedback } from './feedback.entity.js';
import { FeedbackRepository } from './feedback.repository.js';

/** Votes of users on their answers, and their evaluation by administrators. */
@Injectable()
export class FeedbackService {
  constructor(
    private readonly feedback: FeedbackRepository,
    private readonly knowledge: KnowledgeService,
    private readonly testSets: TestSetService,
    private readonly retention: ChatRetentionRepository,
  ) {}

  /** Replaces an earlier vote of the caller. */
  async put(caller: Caller, messageId: number, { vote, text }: FeedbackBody): Promise<void> {
    const answer = await this.feedback.message(caller, messageId);
    if (answer.role !== 'assistant') {
      throw new InvalidInputError(msg`Feedback is about answers. Send the id of an answer.`);
    }
    const { sessionId } = answer;
    if (sessionId && (await this.retention.isTemporary(caller.tenantId, sessionId))) {
      throw new InvalidInputError(msg`Answers of temporary chats take no feedback.`);
    }
    await this.feedback.put(caller, answer, { vote, comment: text?.trim() || null });
  }

  async remove(caller: Caller, messageId: number): Promise<void> {
    await this.feedback.remove(caller, messageId);
  }

  /** The feedback of all users of the tenant. */
  async list({ tenantId }: Caller, query: FeedbackListQuery): Promise<Page<FeedbackView>> {
    const page = await this.feedback.page(tenantId, query);
    const exchanges = await this.feedback.exchanges(tenantId, page.rows);
    const voters = page.rows.map(({ userId }) => userId);
    const names = await this.feedback.userNames(tenantId, voters);
    return page.map((one) =>
      toFeedbackView(one, exchangeOf(one, exchanges), names.get(one.userId) ?? null),
    );
  }

  /**
   * Makes the question a test query of the knowledge base; what the answer cites from that base is expected. Needs write
   * access to the base.
   */
  async makeTestQuery(caller: Caller, id: number, knowledgeId: number): Promise<TestQueryView> {
    await this.knowledge.writable(caller, knowledgeId);
    const feedback = await this.feedback.feedback.get(caller.tenantId, id);
    const exchanges = await this.feedback.exchanges(caller.tenantId, [feedback]);
    const { question, answer } = exchangeOf(feedback, exchanges);
    if (question === null) {
      throw new InvalidInputError(
        msg`The question of this answer was deleted. Add the query by hand.`,
      );
    }
    const cited = (answer.sources ?? []).filter(
      (source) => source.cited && source.knowledgeId === knowledgeId,
    );
    return this.testSets.createFromCitations(caller, knowledgeId, {
      queryId: `feedback-${id}`,
      query: question,
      cited,
    });
  }
}

/** The answer with its question. Throws NotFoundError if it was deleted after its feedback was read. */
function exchangeOf({ messageId }: Feedback, exchanges: ReadonlyMap<number, Exchange>): Exchange {
  const exchange = exchanges.get(messageId);
  if (!exchange) throw new NotFoundError(msg`The feedback`);
  return exchange;
}
