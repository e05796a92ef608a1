import { Id, PageQuery, Text } from '../platform/http/index.js';

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
