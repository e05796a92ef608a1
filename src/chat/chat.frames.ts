import { localized, sseFrame } from '../platform/http/index.js';
import type { MadeAttempt } from '../model/index.js';
import type { InlineContent } from '../platform/access/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type {
  Citations,
  DecidedCall,
  LeftOutFragment,
  Source,
  SourceReference,
} from '../agent/index.js';
import { fragmentReference } from '../retrieval/index.js';
import type { RetrievedFragment } from '../retrieval/index.js';
import type { ChatFile } from './file/chat-file.js';
import type { ChatMessage, MessageState, StoredCall, StoredSource } from './message.entity.js';
import type { StoredAnswer, TurnUsage } from './turn.repository.js';

export const INTERRUPTED = msg`The service stopped while this message was being answered. Send it with a new key.`;

/**
 * The frames of /chat/send. Existing clients read `content`, `done` and `[ERROR]` and ignore the others
 * (docs/WIRE.md, Chat); every frame has exactly one data line.
 */
const CONTENT_PREFIX = 'event: content\ndata: {"event":"content","content":';

export function contentFrame(text: string): string {
  return `${CONTENT_PREFIX}${JSON.stringify(text)}}\n\n`;
}

export function reasoningFrame(text: string): string {
  return `${CONTENT_PREFIX}"","reasoning_content":${JSON.stringify(text)}}\n\n`;
}

/** `attempts` of a turn whose model was called again, or for which another one answered. */
export function usageFrame(usage: TurnUsage, attempts?: readonly MadeAttempt[]): string {
  return sseFrame('usage', { event: 'usage', usage, ...(attempts && { attempts }) });
}

/** A tool call, when the model has decided it. The model chose the name. */
export function toolCallFrame({ number, id, name, arguments: text }: DecidedCall): string {
  return sseFrame('tool_call', { event: 'tool_call', number, id, name, arguments: text });
}

/** A call that waits for its user to decide, by `effectId` (POST /chat/turns/{turnId}/decisions). The stream ends then. */
export function toolApprovalFrame(turnId: string, call: StoredCall): string {
  const { number, id, name, effectId, approval } = call;
  const fields = { turnId, callId: effectId, number, id, name, ...approval };
  return sseFrame('tool_approval', { event: 'tool_approval', ...fields });
}

/** The end of a tool call. */
export function toolResultFrame({
  number,
  id,
  name,
  state,
  summary,
  durationMs,
}: StoredCall): string {
  const result = { number, id, name, state, summary, durationMs };
  return sseFrame('tool_result', { event: 'tool_result', ...result });
}

/** Result of the retrieval for a question. */
export interface SourcesDetails {
  /** Retrieval failed and no fragments were sent. */
  readonly fallback?: boolean;
  /** Lost vectors of a knowledge base are still being rebuilt. */
  readonly incomplete?: boolean;
  /** Fragments that were found but not sent, best first. */
  readonly leftOut?: readonly LeftOutFragment<RetrievedFragment>[];
}

/** Maximum omitted fragments listed in a frame, which also has their total. */
const NAMED_LEFT_OUT = 20;

/** The fragments that were sent to the model, before its first word. */
export function sourcesFrame(
  sources: readonly (SourceReference | Source)[],
  { fallback = false, incomplete = false, leftOut = [] }: SourcesDetails = {},
): string {
  const named = leftOut
    .slice(0, NAMED_LEFT_OUT)
    .map(({ fragment, reason }) => ({ ...fragmentReference(fragment), reason }));
  return sseFrame('sources', {
    event: 'sources',
    sources,
    ...(leftOut.length > 0 && { leftOut: named, leftOutCount: leftOut.length }),
    ...(fallback && { fallback }),
    ...(incomplete && { incomplete }),
  });
}

/** Files of the question that could not be read, before the first word of an answer that goes on without them. */
export function filesFrame(failed: readonly ChatFile[]): string {
  const files = failed.map(({ id, name, state, reason }) => ({
    id: String(id),
    name,
    state,
    reason: reason ? localized(reason) : '',
  }));
  return sseFrame('files', { event: 'files', files });
}

interface DoneDetails {
  /** The cited sources and cited numbers that do not exist, of an answer with retrieval. */
  readonly citations?: Citations | undefined;
  /** The answer is not stored yet, because the database is away. */
  readonly isKept?: boolean;
  /** The content is JSON that was checked against the schema of the turn. */
  readonly structured?: boolean;
  /** The trace of the turn, where it is recorded. */
  readonly traceId?: string | undefined;
}

/** The end of an answer. */
export function doneFrame(
  finishReason: string,
  { citations, isKept = false, structured = false, traceId }: DoneDetails = {},
): string {
  return sseFrame('done', {
    event: 'done',
    done: true,
    finishReason,
    ...(citations && { citations }),
    ...(isKept && { stored: false }),
    ...(structured && { structured: true }),
    ...(traceId !== undefined && { traceId }),
  });
}

/** Envelope fields of the error besides its text. */
export interface ErrorDetails {
  readonly code: number;
  readonly data: unknown;
}

/** An error in the forms of both kinds of clients, in the language of the request; the end of the stream follows. */
export function errorFrames(message: Message, details?: ErrorDetails): string {
  const text = localized(message);
  return (
    sseFrame('error', { event: 'error', error: text, ...details }) +
    sseFrame('[ERROR]', { msg: text })
  );
}

/** The end of a stored answer: usage and done, or its error. */
export function endFrames({
  state,
  error,
  usage,
  finishReason,
  structured,
}: Pick<StoredAnswer, 'state' | 'error' | 'usage' | 'finishReason' | 'structured'>): string {
  if (state === 'failed') return errorFrames(error ?? INTERRUPTED);
  return usageFrame(usage) + doneFrame(finishReason ?? 'stop', { structured });
}

// Texts for clients that read only `content` (docs/WIRE.md, Clients that read only content). The stored text has none of
// them, so that they are not sent to a model as history.

/** End of an answer as sent and stored. */
export interface EndedAnswer {
  readonly content: string;
  readonly state: MessageState;
  readonly finishReason: string | null;
  readonly sources: readonly StoredSource[] | null | undefined;
  /** Whether the content is JSON, to which nothing is appended. */
  readonly structured: boolean;
}

const CUT = msg`The answer was cut at the length limit. Ask for the rest, or raise the limit.`;

/** Text appended to a complete answer; may be empty. */
export function inlineEnding(answer: EndedAnswer, inline: InlineContent): string {
  if (answer.state !== 'complete' || answer.structured) return '';
  const parts = [
    ...(inline.failures && answer.finishReason === 'length' ? [localized(CUT)] : []),
    ...(inline.sources && answer.content !== '' ? sourceParagraphs(answer.sources ?? []) : []),
  ];
  return below(answer.content, parts);
}

/** The text of a message in a list. */
export function listedContent(message: ChatMessage, inline: InlineContent): string {
  const { role, content, reasoning, state, error } = message;
  if (role !== 'assistant' || message.structured) return content;
  const failure = inline.failures && state === 'failed' && error ? [localized(error)] : [];
  return (
    (inline.thinking && reasoning ? thinkingBlock(reasoning) : '') +
    content +
    inlineEnding(message, inline) +
    below(content, failure)
  );
}

/** Escaped, so that the thinking text cannot close its block. */
function thinkingBlock(reasoning: string): string {
  return `<think>${reasoning.replaceAll(/<(?=\/?think>)/gi, '&lt;')}</think>`;
}

/** The cited sources, or all if the answer cites none. */
function sourceParagraphs(sources: readonly StoredSource[]): string[] {
  const cited = sources.filter((source) => source.cited);
  const listedSources = cited.length > 0 ? cited : sources;
  return listedSources.length === 0
    ? []
    : [`Sources:\n${listedSources.map(sourceLine).join('\n')}`];
}

function sourceLine({ number, document, page, location }: StoredSource): string {
  const place = page === null ? location : `page ${page}`;
  const name = place === null ? document : `${document}, ${place}`;
  return `- [${number}] ${name.replaceAll(/\s+/g, ' ')}`;
}

function below(content: string, paragraphs: readonly string[]): string {
  if (paragraphs.length === 0) return '';
  return `${content === '' ? '' : '\n\n'}${paragraphs.join('\n\n')}`;
}
