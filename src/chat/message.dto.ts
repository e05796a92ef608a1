import type { InlineContent } from '../platform/access/index.js';
import {
  decimal,
  Flag,
  flag,
  Id,
  Input,
  integer,
  list,
  localized,
  MAX_ROWS,
  nullable,
  number,
  object,
  OneOf,
  oneOf,
  optional,
  pageFields,
  sheetOf,
  Text,
  text,
  texts,
  time,
  timestamp,
  uuid,
  View,
} from '../platform/http/index.js';
import type { Feedback } from './feedback/feedback.entity.js';
import type { ChatFile } from './file/chat-file.js';
import { listedContent } from './chat.frames.js';
import type { ChatMessage, MessageRole, StoredCall } from './message.entity.js';
import type { StepsOfMessages } from './step.repository.js';
import { endedCall } from './turn.steps.js';

/** Description of the field `inline` of a request. */
export const INLINE =
  'false: content without thinking text, sources and failures, whatever the record of the client says';

const callStates = ['done', 'failed', 'timeout', 'stopped', 'uncertain', 'interrupted', 'waiting'];
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
    description: `The messages of this session, oldest first; without page and order its newest ${MAX_ROWS}`,
  }),
  all: Flag({
    optional: true,
    description: 'With sessionId: the messages of all branches; otherwise those of the current one',
  }),
  inline: Flag({ optional: true, description: INLINE }),
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
  knowledgeId: number({ example: 3, description: '0: a text of the web' }),
  docId: text({ example: 'a1b2c3d4e5' }),
  fid: text({ example: 'k3v9x0a2bq', description: 'fid of the fragment' }),
  document: text({ example: 'warranty.pdf' }),
  page: nullable(number()),
  headings: nullable(text()),
  location: nullable(text()),
  score: decimal({ example: 0.83 }),
  cutFrom: optional(
    integer({ description: 'Characters of the fragment, of which only the beginning was sent' }),
  ),
  firstIndex: optional(
    integer({ description: 'With neighbours: index of the first fragment that was sent with it' }),
  ),
  lastIndex: optional(integer({ description: 'Index of the last one' })),
  url: optional(text({ description: 'Address of a text of the web' })),
  readTime: optional(text({ description: 'When it was looked up, in ISO 8601' })),
}) {}

/** A file that a question was sent with. */
export class MessageFileView extends View({
  id: text({ example: '57', description: 'ossId of the upload' }),
  name: text({ example: 'photo.png' }),
  type: text({ example: 'image/png', description: 'Media type, by the content' }),
  size: number({ example: 48_213, description: 'Bytes' }),
  kind: oneOf(['image', 'document']),
  state: oneOf(['sent', 'reading', 'quoted', 'searched', 'failed'], {
    description:
      'sent: an image; reading: a document that is not read yet; quoted: its text is part of the question; searched: a document of the session’s knowledge base; failed: it could not be read',
  }),
  knowledgeId: nullable(number({ description: 'Of a searched one' })),
  attachmentId: nullable(number({ description: 'Of a searched one' })),
  reason: optional(
    text({
      example: 'The file plan.pdf cannot be read. This is not a PDF.',
      description: 'Of a failed one: why, and what to do; the question goes on without it',
    }),
  ),
}) {}

/** The caller's own vote on an answer. */
export class OwnFeedbackView extends View({
  vote: oneOf(['up', 'down']),
  text: nullable(text()),
}) {}

/** What the user is asked about a call. */
export class CallApprovalView extends View({
  argumentsJson: text({ example: '{"order":7}', description: 'The exact arguments' }),
  argumentsSha256: text({ description: 'SHA-256 of argumentsJson, to which a decision is bound' }),
  grantable: flag({ description: 'The tool can be allowed for the rest of the chat' }),
  expiresAt: timestamp({ description: 'Until then the call can be decided' }),
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
    description:
      'interrupted: the service stopped before the tool did; stopped: the turn was; waiting: for a decision of the user; uncertain: it may have been executed, and is not repeated',
  }),
  callId: nullable(
    uuid({ description: 'Id for decisions and resolutions, of a tool that changes something' }),
  ),
  approval: nullable(object(CallApprovalView, { description: 'Of a waiting call' })),
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
  parentId: nullable(
    text({ example: '39', description: 'The message that it follows; null for a first one' }),
  ),
  siblings: texts({
    example: ['38', '40'],
    description: 'Messages of its role that follow the same one, with itself, oldest first',
  }),
  feedback: nullable(object(OwnFeedbackView)),
  userId: number({ example: 3 }),
  role: oneOf(['user', 'assistant', 'system']),
  content: text({
    description:
      'Never null; empty when a turn failed before its first token, unless the client has the reason inline',
  }),
  reasoningContent: nullable(text({ description: 'Thinking text of the model' })),
  modelName: nullable(text()),
  agentId: nullable(number({ description: 'The agent that wrote the answer' })),
  turnId: nullable(uuid({ description: 'Shared by a question and its answer' })),
  state: oneOf(['complete', 'stopped', 'failed', 'waiting'], {
    description: 'waiting: it goes on when the user has decided about calls of tools',
  }),
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
  files: list(MessageFileView, { description: 'What the question was sent with' }),
  steps: list(StepView, { description: 'What an agent did with tools before its last text' }),
  traceId: nullable(
    text({
      example: '4bf92f3577b34da6a3ce929d0e0e4736',
      description: 'The trace of the answer, where the operator records traces',
    }),
  ),
  remark: nullable(text()),
  createTime: time({ example: '2026-01-31 12:00:00' }),
}) {}

export const messageSheet = sheetOf<MessageView>('Messages', {
  id: 'Id',
  sessionId: 'Session',
  role: ['Role', { user: 'User', assistant: 'Assistant', system: 'System' }],
  content: 'Text',
  modelName: 'Model',
  state: [
    'State',
    { complete: 'Complete', stopped: 'Stopped', failed: 'Failed', waiting: 'Waiting' },
  ],
  error: 'Error',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  totalTokens: 'Tokens',
  remark: 'Remark',
  createTime: 'Created',
});

export function toFileView(file: ChatFile): MessageFileView {
  const { knowledgeId = null, attachmentId = null } = file;
  const reason = file.reason && localized(file.reason);
  return MessageFileView.of(
    { ...file, knowledgeId, attachmentId, reason },
    { id: String(file.id) },
  );
}

/** Data of a message view besides its row. */
export interface MessageSurroundings {
  /** Sibling ids by the id of each message that has any. */
  readonly siblings: ReadonlyMap<number, readonly number[]>;
  /** The caller's feedback by answer id. */
  readonly feedback: ReadonlyMap<number, Feedback>;
  /** Tool steps by answer id. */
  readonly steps: StepsOfMessages;
}

export function toMessageView(
  message: ChatMessage,
  { siblings, feedback, steps }: MessageSurroundings,
): MessageView {
  const ownFeedback = feedback.get(message.id);
  return MessageView.of(message, {
    id: String(message.id),
    sessionId: message.sessionId === null ? null : String(message.sessionId),
    parentId: message.parentId === null ? null : String(message.parentId),
    siblings: (siblings.get(message.id) ?? [message.id]).map(String),
    feedback: ownFeedback ? { vote: ownFeedback.vote, text: ownFeedback.comment } : null,
    reasoningContent: message.reasoning,
    error: localized(message.error),
    sources: message.sources ?? [],
    files: (message.files ?? []).map(toFileView),
    steps: (steps.get(message.id) ?? []).map((step) =>
      StepView.of(step, { calls: step.calls.map(toCallView) }),
    ),
  });
}

function toCallView(stored: StoredCall): StepCallView {
  const { effectId, approval, ...call } = endedCall(stored);
  return StepCallView.of(call, {
    callId: effectId ?? null,
    approval: approval ? CallApprovalView.of(approval) : null,
  });
}

/** The view in a list. Its text includes what the client reads nowhere else; tool calls omit their results. */
export function toListedMessageView(
  message: ChatMessage,
  surroundings: MessageSurroundings,
  inline: InlineContent,
): MessageView {
  const view = toMessageView(message, surroundings);
  return {
    ...view,
    content: listedContent(message, inline),
    steps: view.steps.map((step) => ({
      ...step,
      calls: step.calls.map((call) => ({ ...call, content: null })),
    })),
  };
}
