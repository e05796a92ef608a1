import { Id, nullable, number, PageQuery, Text, text, time, View } from '../platform/http/index.js';
import type { ChatSession } from './session.entity.js';

export class SessionListQuery extends PageQuery {
  @Text({ optional: true, max: 255, description: 'Part of the title' })
  sessionTitle?: string;

  @Text({ optional: true, max: 10_000, description: 'Part of the content' })
  sessionContent?: string;

  @Text({ optional: true, max: 64 })
  conversationId?: string;
}

export class CreateSessionBody {
  @Text({ optional: true, max: 255, example: 'Holiday plans' })
  sessionTitle?: string;

  @Text({ optional: true, max: 100_000 })
  sessionContent?: string;

  @Text({ optional: true, max: 64 })
  conversationId?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class UpdateSessionBody extends CreateSessionBody {
  @Id({ description: 'The session to change' })
  id: number;
}

export class SessionView extends View({
  id: text({ example: '12', description: 'A string of digits' }),
  userId: number({ example: 3 }),
  sessionTitle: text({ example: 'Holiday plans' }),
  sessionContent: text(),
  conversationId: nullable(text()),
  remark: nullable(text()),
  createTime: time({ example: '2026-01-31 12:00:00' }),
  updateTime: time({ example: '2026-01-31 12:00:00' }),
}) {}

export function toSessionView(session: ChatSession): SessionView {
  return SessionView.of(session, { id: String(session.id) });
}
