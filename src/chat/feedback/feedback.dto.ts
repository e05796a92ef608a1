import {
  Id,
  Input,
  list,
  nullable,
  OneOf,
  oneOf,
  pageFields,
  recordId,
  sheetOf,
  Text,
  text,
  time,
  TimeRangeField,
  View,
  number,
} from '../../platform/http/index.js';
import { SourceView } from '../message.dto.js';
import type { ChatMessage } from '../message.entity.js';
import { votes } from './feedback.entity.js';
import type { Feedback } from './feedback.entity.js';

const MAX_TEXT_CHARS = 2_000;

export class FeedbackBody extends Input({
  vote: OneOf(votes),
  text: Text({ optional: true, max: MAX_TEXT_CHARS, description: 'Why; replaces an earlier text' }),
}) {}

export class FeedbackListQuery extends Input({
  ...pageFields('id', 'userId', 'vote', 'agentId', 'modelName', 'createTime', 'updateTime', {
    text: 'comment',
  }),
  vote: OneOf(votes, { optional: true }),
  agentId: Id({ optional: true, description: 'Answers of this agent' }),
  modelName: Text({ optional: true, max: 200, description: 'Part of the model name' }),
  params: TimeRangeField(),
}) {}

export class FeedbackTestQueryBody extends Input({
  knowledgeId: Id({ description: 'A knowledge base that the caller may change' }),
}) {}

export class FeedbackView extends View({
  id: recordId(),
  userId: number({ example: 3, description: 'Who voted' }),
  userName: nullable(text({ example: 'jo', description: 'null for a user of another tenant' })),
  messageId: text({ example: '41', description: 'The answer' }),
  vote: oneOf(votes),
  text: nullable(text({ example: 'The warranty is two years, not one.' })),
  agentId: nullable(number()),
  modelName: nullable(text()),
  question: nullable(text({ description: 'null when it was deleted' })),
  answer: text(),
  sources: list(SourceView, { description: 'The fragments that were sent to the model' }),
  createTime: time(),
  updateTime: time(),
}) {}

export const feedbackSheet = sheetOf<FeedbackView>('Feedback', {
  id: 'Id',
  createTime: 'Created',
  vote: ['Vote', { up: 'Up', down: 'Down' }],
  text: 'Text',
  userId: 'User id',
  userName: 'User',
  agentId: 'Agent id',
  modelName: 'Model',
  question: 'Question',
  answer: 'Answer',
  sources: [
    'Sources',
    (sources) => sources.map(({ number: of, document }) => `[${of}] ${document}`).join('\n'),
  ],
});

/** An answer and its question, unless that was deleted. */
export interface Exchange {
  readonly question: string | null;
  readonly answer: ChatMessage;
}

export function toFeedbackView(
  feedback: Feedback,
  { question, answer }: Exchange,
  userName: string | null,
): FeedbackView {
  return FeedbackView.of(feedback, {
    messageId: String(feedback.messageId),
    text: feedback.comment,
    userName,
    question,
    answer: answer.content,
    sources: answer.sources ?? [],
  });
}
