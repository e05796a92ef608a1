import { Id, OneOf, PageQuery, Text } from '../platform/http/index.js';
import type { MessageRole } from './message.entity.js';

const roles: readonly MessageRole[] = ['user', 'assistant', 'system'];

export class MessageListQuery extends PageQuery {
  @Id({ optional: true, description: 'All messages of this session, oldest first' })
  sessionId?: number;

  @Text({ optional: true, max: 10_000, description: 'Part of the text' })
  content?: string;

  @OneOf(roles, { optional: true })
  role?: MessageRole;

  @Text({ optional: true, max: 200, description: 'Part of the model name' })
  modelName?: string;
}

export class CreateMessageBody {
  @Id({ description: 'One of the caller’s sessions' })
  sessionId: number;

  @OneOf(roles)
  role: MessageRole;

  @Text({ max: 1_000_000 })
  content: string;

  @Text({ optional: true, max: 200 })
  modelName?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class UpdateMessageBody {
  @Id({ description: 'The message to change' })
  id: number;

  @Text({ optional: true, max: 1_000_000 })
  content?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}
