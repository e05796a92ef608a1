import {
  Flag,
  flag,
  Id,
  Input,
  nullable,
  number,
  pageFields,
  sheetOf,
  Text,
  text,
  time,
  uuid,
  View,
} from '../platform/http/index.js';
import type { ChatSession } from './session.entity.js';

export class SessionListQuery extends Input({
  ...pageFields(
    'id',
    'userId',
    'sessionTitle',
    'sessionContent',
    'conversationId',
    'remark',
    'createTime',
    'updateTime',
  ),
  sessionTitle: Text({ optional: true, max: 255, description: 'Part of the title' }),
  sessionContent: Text({ optional: true, max: 10_000, description: 'Part of the content' }),
  conversationId: Text({ optional: true, max: 64 }),
}) {}

/** Existing clients send the first message as the content, which may be longer. */
const MAX_CONTENT_CHARS = 100_000;

const sessionFields = {
  sessionTitle: Text({ optional: true, max: 255, example: 'Holiday plans' }),
  sessionContent: Text({
    optional: true,
    cut: MAX_CONTENT_CHARS,
    description: `Cut after ${MAX_CONTENT_CHARS} characters`,
  }),
  conversationId: Text({ optional: true, max: 64 }),
  remark: Text({ optional: true, max: 500 }),
};

export class CreateSessionBody extends Input({
  ...sessionFields,
  temporary: Flag({
    optional: true,
    description:
      'In no list or search, without votes, and removed with its files when it is deleted, after a day at the latest. The tenant may enforce or forbid it',
  }),
}) {}

export class UpdateSessionBody extends Input({
  ...sessionFields,
  id: Id({ description: 'The session to change' }),
}) {}

export class ChooseBranchBody extends Input({
  sessionId: Id({ description: 'One of the caller’s sessions' }),
  messageId: Id({ description: 'A message of the session' }),
}) {}

export class SessionView extends View({
  id: text({ example: '12', description: 'A string of digits' }),
  userId: number({ example: 3 }),
  sessionTitle: text({ example: 'Holiday plans' }),
  sessionContent: text(),
  conversationId: nullable(text()),
  remark: nullable(text()),
  answering: flag({
    example: false,
    description:
      'Whether an answer is being written in it; the list of messages has it when it has ended',
  }),
  turnId: nullable(
    uuid({ description: 'The turn whose answer is being written; one with detach can be read on' }),
  ),
  temporary: flag({ example: false, description: 'In no list, and removed within a day' }),
  createTime: time({ example: '2026-01-31 12:00:00' }),
  updateTime: time({ example: '2026-01-31 12:00:00' }),
}) {}

export const sessionSheet = sheetOf<SessionView>('Sessions', {
  id: 'Id',
  sessionTitle: 'Title',
  sessionContent: 'Content',
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toSessionView(session: ChatSession): SessionView {
  const { turnLease, turnId } = session;
  const answering = turnLease !== null && turnLease.getTime() > Date.now();
  return SessionView.of(session, {
    id: String(session.id),
    answering,
    turnId: answering ? turnId : null,
  });
}
