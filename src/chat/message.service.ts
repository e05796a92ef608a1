import { Injectable } from '@nestjs/common';
import { NOTHING_INLINE } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { among, anyOf, containing, Database, TenantScoped } from '../platform/database/index.js';
import { isWholeList, Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { RetentionService } from '../platform/retention/index.js';
import { StoredStreams } from '../platform/stream/index.js';
import { ChatRetentionRepository } from './chat-retention.repository.js';
import { ChatBranches } from './branch/chat.branches.js';
import { FeedbackRepository } from './feedback/feedback.repository.js';
import { ChatFiles } from './file/chat-files.js';
import { toListedMessageView, toMessageView } from './message.dto.js';
import type {
  CreateMessageBody,
  MessageListQuery,
  MessageSurroundings,
  MessageView,
  UpdateMessageBody,
} from './message.dto.js';
import { ChatMessage, endedStates } from './message.entity.js';
import { StepRepository } from './step.repository.js';
import type { StepsOfMessages } from './step.repository.js';

/** Excludes answers that are still being written. */
const ended = { state: among(endedStates) };

/** The messages of the caller's conversations. Turns store their messages themselves. */
@Injectable()
export class MessageService {
  private readonly messages: TenantScoped<ChatMessage>;

  constructor(
    private readonly branches: ChatBranches,
    private readonly feedback: FeedbackRepository,
    private readonly steps: StepRepository,
    database: Database,
    private readonly audit: AuditLog,
    private readonly files: ChatFiles,
    private readonly retention: ChatRetentionRepository,
    private readonly rules: RetentionService,
    private readonly streams: StoredStreams,
  ) {
    this.messages = new TenantScoped(database, ChatMessage, msg`The chat message`);
  }

  async list(caller: Caller, query: MessageListQuery): Promise<Page<MessageView>> {
    const { tenantId, userId } = caller;
    const { sessionId, all, content, role, modelName, inline } = query;
    const branch = sessionId && !all ? await this.branches.current(caller, sessionId) : undefined;
    const where = {
      userId,
      ...ended,
      ...(sessionId && { sessionId }),
      ...(branch && { id: anyOf(branch) }),
      ...(content && { content: containing(content) }),
      ...(role && { role }),
      ...(modelName && { modelName: containing(modelName) }),
    };
    // A client that requests a whole session gets the newest messages, oldest first.
    const isConversation = sessionId !== undefined && isWholeList(query);
    // A conversation reads from its beginning, a list of all messages from the newest.
    const order = sessionId && !isConversation ? 'ASC' : 'DESC';
    const listed = sessionId ? where : await this.retention.listed(caller, where);
    const { rows, total } = await this.messages.page(tenantId, query, listed, { id: order });
    const steps = await this.steps.listed(tenantId, answersAmong(rows));
    const surroundings = await this.surroundings(caller, rows, steps);
    const inlineFields = inline === false ? NOTHING_INLINE : caller.inline;
    const views = rows.map((row) => toListedMessageView(row, surroundings, inlineFields));
    return new Page(isConversation ? views.reverse() : views, total);
  }

  private async surroundings(
    caller: Caller,
    messages: readonly ChatMessage[],
    steps: StepsOfMessages,
  ): Promise<MessageSurroundings> {
    return {
      siblings: await this.branches.siblings(caller, messages),
      feedback: await this.feedback.ofCaller(caller, answersAmong(messages)),
      steps,
    };
  }

  async detail(caller: Caller, id: number): Promise<MessageView> {
    const { tenantId, userId } = caller;
    const message = await this.messages.get(tenantId, id, { userId, ...ended });
    const steps = await this.steps.of(tenantId, answersAmong([message]));
    return toMessageView(message, await this.surroundings(caller, [message], steps));
  }

  /** Adds the message at the end of the current branch. Returns its id as a string. */
  async create(caller: Caller, body: CreateMessageBody): Promise<string> {
    const { tenantId, userId } = caller;
    const id = await this.branches.append(caller, body.sessionId, async (parentId) => {
      const message = await this.messages.insert(tenantId, { ...body, userId, parentId });
      return message.id;
    });
    return String(id);
  }

  async update(caller: Caller, { id, ...values }: UpdateMessageBody): Promise<void> {
    const { tenantId, userId } = caller;
    if (values.content !== undefined) await this.rules.requireNotHeld(caller);
    await this.messages.update(tenantId, id, values, { userId, ...ended });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId, userId } = caller;
    await this.files.deleting(caller, { messageIds: ids }, async () => {
      const messages = await this.messages.find(tenantId, { id: anyOf(ids), userId, ...ended });
      await this.branches.detach(caller, messages);
      await this.messages.remove(tenantId, ids, { userId, ...ended });
      // A question takes its frames with it; an answer of a question that stays does not.
      const turnIds = messages.flatMap(({ turnId }) => turnId ?? []);
      await this.streams.remove({ tenantId, userId }, turnIds);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'chat_message', id });
      }
    });
  }
}

/** Only answers have steps. */
function answersAmong(messages: readonly ChatMessage[]): number[] {
  return messages.filter(({ role }) => role === 'assistant').map(({ id }) => id);
}
