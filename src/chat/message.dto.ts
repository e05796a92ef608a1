import type { InlineContent } from '../platform/access/index.js';
import {
  decimal,
  flag,
  Id,
  Input,
  integer,
  list,
  MOST_ROWS,
  nullable,
  number,
  OneOf,
  oneOf,
  pageFields,
  sheetOf,
  Text,
  text,
  time,
  View,
} from '../platform/http/index.js';
import { listedContent } from './inline-content.js';
import type { ChatMessage, MessageRole } from './message.entity.js';
import type { StoredStep } from './step/step.entity.js';
import { endedCall } from './step/turn.steps.js';

const callStates = ['done', 'failed', 'timeout', 'stopped', 'interrupted'];
const roles: readonly MessageRole[] = ['user', 'assistant', 'system'];

export class MessageListQuery extends Input({
  ...pageFields(
    'id',
    'sessionId',
    'userId',
    'role',
    'content',
    'modelName',
    'state',
    'finishReason',
    'error',
    'inputTokens',
    'outputTokens',
    'totalTokens',
    'usageEstimated',
    'firstTokenMs',
    'durationMs',
    'remark',
    'createTime',
    { reasoningContent: 'reasoning' },
  ),
  sessionId: Id({
    optional: true,
    description: `The messages of this session, oldest first; without page and order its newest ${MOST_ROWS}`,
  }),
  content: Text({ optional: true, max: 10_000, description: 'Part of the text' }),
  role: OneOf(roles, { optional: true }),
  modelName: Text({ optional: true, max: 200, description: 'Part of the model name' }),
}) {}

export class CreateMessageBody extends Input({
  sessionId: Id({ description: 'One of the caller’s sessions' }),
  role: OneOf(roles),
  content: Text({ max: 1_000_000 }),
  modelName: Text({ optional: true, max: 200 }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class UpdateMessageBody extends Input({
  id: Id({ description: 'The message to change' }),
  content: Text({ optional: true, max: 1_000_000 }),
  remark: Text({ optional: true, max: 500 }),
}) {}

/** A fragment that was sent to the model. */
export class SourceView extends View({
  number: number({ example: 1, description: 'The number by which the answer cites it' }),
  cited: flag({ example: true, description: 'Whether the answer cites it' }),
  knowledgeId: number({ example: 3 }),
  docId: text({ example: 'a1b2c3d4e5' }),
  fid: text({ example: 'k3v9x0a2bq', description: 'fid of the fragment' }),
  document: text({ example: 'warranty.pdf' }),
  page: nullable(number()),
  headings: nullable(text()),
  location: nullable(text()),
  score: decimal({ example: 0.83 }),
}) {}

/** A tool call of an answer. */
export class StepCallView extends View({
  number: integer({ example: 1, description: 'Counts the calls of the answer' }),
  id: text({ example: 'call_1' }),
  name: text({ example: 'search_knowledge' }),
  arguments: text({
    example: '{"query":"warranty"}',
    description: 'The JSON text as the model wrote it',
  }),
  state: oneOf(callStates, {
    description: 'interrupted: the service stopped before the tool did; stopped: the turn was',
  }),
  summary: text({ example: 'searched "warranty": 3 fragments' }),
  content: nullable(text({ description: 'What the model read; null in lists' })),
  durationMs: nullable(integer({ example: 120 })),
}) {}

/** An answer of the model that called tools; content of the message has its text, too. */
export class StepView extends View({
  number: integer({ example: 1 }),
  text: text({ example: 'Let me look.' }),
  reasoning: nullable(text()),
  calls: list(StepCallView),
  inputTokens: nullable(integer({ description: 'null: the provider sent no usage' })),
  outputTokens: nullable(integer()),
}) {}

export class MessageView extends View({
  id: text({ example: '40' }),
  sessionId: nullable(text({ example: '12' })),
  userId: number({ example: 3 }),
  role: oneOf(['user', 'assistant', 'system']),
  content: text({
    description:
      'Never null; empty when a turn failed before its first token, unless the client has the reason inline',
  }),
  reasoningContent: nullable(text({ description: 'Thinking text of the model' })),
  modelName: nullable(text()),
  state: oneOf(['complete', 'stopped', 'failed']),
  finishReason: nullable(text({ example: 'stop' })),
  error: nullable(text({ description: 'Why the answer failed' })),
  inputTokens: nullable(number()),
  outputTokens: nullable(number()),
  totalTokens: number({ example: 120 }),
  usageEstimated: flag({
    description: 'True when the provider sent no usage and the counts are estimates',
  }),
  structured: flag({
    description: 'Whether content is JSON that was checked against the responseFormat of the turn',
  }),
  firstTokenMs: nullable(number()),
  durationMs: nullable(number()),
  sources: list(SourceView, { description: 'The fragments that were sent to the model' }),
  steps: list(StepView, { description: 'What an agent did with tools before its last text' }),
  remark: nullable(text()),
  createTime: time({ example: '2026-01-31 12:00:00' }),
}) {}

export const messageSheet = sheetOf<MessageView>('Messages', {
  id: 'Id',
  sessionId: 'Session',
  role: ['Role', { user: 'User', assistant: 'Assistant', system: 'System' }],
  content: 'Text',
  modelName: 'Model',
  state: ['State', { complete: 'Complete', stopped: 'Stopped', failed: 'Failed' }],
  error: 'Error',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  totalTokens: 'Tokens',
  remark: 'Remark',
  createTime: 'Created',
});

export function toMessageView(
  message: ChatMessage,
  steps: readonly StoredStep[] = [],
): MessageView {
  return MessageView.of(message, {
    id: String(message.id),
    sessionId: message.sessionId === null ? null : String(message.sessionId),
    reasoningContent: message.reasoning,
    sources: message.sources ?? [],
    steps: steps.map((step) => StepView.of(step, { calls: step.calls.map(endedCall) })),
  });
}

/** The view in a list: its text has what the client reads nowhere else, and tool calls are without what the model read. */
export function toListedMessageView(
  message: ChatMessage,
  inline: InlineContent,
  steps: readonly StoredStep[] = [],
): MessageView {
  const view = toMessageView(message, steps);
  return {
    ...view,
    content: listedContent(message, inline),
    steps: view.steps.map((step) => ({
      ...step,
      calls: step.calls.map((call) => ({ ...call, content: null })),
    })),
  };
}
