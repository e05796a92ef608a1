import { msg } from '../../platform/message/index.js';
import { InvalidResponseFormatError } from '../../agent/index.js';
import type { FormatNames, Source, TurnPart } from '../../agent/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { NO_EFFORT, UpstreamError } from '../../provider/index.js';
import type {
  ChatCall,
  ChatMessage,
  ChatProtocolName,
  ContentPart,
  RelayOptions,
} from '../../provider/index.js';
import { ParameterError, TooLongError } from './api.errors.js';
import type { HintNames, IgnoredParameters, StreamableRequest } from './answer.js';

/** A request in its client's protocol, with the writer of its answer. */
export interface ApiRequest extends StreamableRequest {
  readonly model: string;
  /** The body as sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Relay to a model of the same protocol; undefined if no model speaks it. */
  readonly relay: RelayedRequest | undefined;
  readonly names: ParameterNames;
  /** Translates the request and notes unsupported hints. Throws ParameterError, and UnsupportedParameterError for parameters that cannot be translated. */
  translate(ignored: IgnoredParameters): TranslatedCall;
  /** Creates the writer of one answer. */
  writer(isAgent: boolean): AnswerWriter;
}

export interface RelayedRequest extends Pick<RelayOptions, 'withUsage' | 'headers'> {
  readonly protocol: ChatProtocolName;
  /** Receives the answer, or the events with its end, before the client does. */
  readonly keep?: (text: string) => Promise<void>;
}

/** Parameter names of a protocol that some models do not support. */
export interface ParameterNames extends HintNames {
  readonly message: (index: number) => string;
  readonly messages: string;
  readonly format: string;
  readonly formatParts: FormatNames;
  readonly imageDetail: string;
  readonly strictTool: (index: number) => string;
}

/** Writes one answer in the protocol. An agent's own calls of tools are not part of it. */
export interface AnswerWriter {
  /** The events of the parts; empty where they add nothing that a client sees. */
  add(parts: readonly TurnPart[]): string;
  /** The last events. Rejects if the answer is incomplete. */
  end(context: AnswerContext): string | Promise<string>;
  /** The answer as one body. Rejects if it is incomplete. */
  whole(context: AnswerContext): object | Promise<object>;
}

/** Inputs of an answer. */
export interface AnswerContext {
  /** The messages that were sent to the model, for counts that the service does not report. */
  readonly messages: readonly ChatMessage[];
  /** The fragments that an agent was given; undefined for a model. */
  readonly sources?: readonly Source[] | undefined;
}

/** A file in a message of the user, which is read into a text before the call. */
export interface FilePart {
  readonly type: 'file';
  readonly name: string;
  readonly content: Buffer;
  /** Parameter path of the file. */
  readonly param: string;
}

export type TranslatedMessage =
  | Exclude<ChatMessage, { role: 'user' }>
  | { readonly role: 'user'; readonly content: string | readonly (ContentPart | FilePart)[] };

/** A request translated for the adapters, with unread files. */
export interface TranslatedCall extends Omit<ChatCall, 'model' | 'responseFormat' | 'messages'> {
  readonly messages: readonly TranslatedMessage[];
  /** The response format, validated by ResponseFormats. */
  readonly format: Readonly<Record<string, unknown>> | undefined;
}

/** The translated request with its files as texts. */
export interface ReadCall extends TranslatedCall {
  readonly messages: readonly ChatMessage[];
}

/** Errors of the schema of an answer and of the length of a request name the parameter that it came in. */
export function withParameter(
  error: unknown,
  { format, formatParts, messages }: ParameterNames,
): unknown {
  if (error instanceof UpstreamError && error.kind === 'context-length') {
    return new TooLongError(error, messages);
  }
  return error instanceof InvalidResponseFormatError
    ? new ParameterError(format, error.messageFor(formatParts))
    : error;
}

type Hint =
  | 'seed'
  | 'topK'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'effort'
  | 'parallelToolCalls'
  | 'toolChoice'
  | 'strict'
  | 'detail';

/** Hints that each model protocol supports. */
const HONOURED: Readonly<Record<ChatProtocolName, ReadonlySet<Hint>>> = {
  'chat-completions': new Set<Hint>([
    ...(['seed', 'frequencyPenalty', 'presencePenalty', 'effort'] as const),
    ...(['parallelToolCalls', 'toolChoice', 'strict', 'detail'] as const),
  ]),
  messages: new Set<Hint>(['topK', 'effort', 'parallelToolCalls', 'toolChoice', 'strict']),
  ollama: new Set<Hint>(['seed', 'topK', 'frequencyPenalty', 'presencePenalty']),
  responses: new Set<Hint>(['effort', 'parallelToolCalls', 'toolChoice', 'strict', 'detail']),
};

/** A hint with the same name in all protocols. */
const NAMES = {
  seed: 'seed',
  topK: 'top_k',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
} as const;

/**
 * Notes the hints that the protocol of the model has no word for, and answers what Plinth sees to in its place, where it can
 * check that. Adapters leave the others out. Throws ParameterError, and UnsupportedParameterError where the key or the model is strict.
 */
export function noteIgnored(
  call: Omit<ReadCall, 'format'>,
  model: ResolvedChatModel,
  names: ParameterNames,
  ignored: IgnoredParameters,
): EmulatedChoice {
  const hasTools = (call.tools?.length ?? 0) > 0;
  if (call.toolChoice === 'required' && !hasTools) {
    throw new ParameterError(
      'tool_choice',
      msg`tool_choice calls for a tool, and there is none. Send tools, or remove it.`,
    );
  }
  noteLacking(call, model, ignored);
  const isLacking = (hint: Hint): boolean => !honouredBy(model).has(hint);
  // Disabled thinking is expressed otherwise in these protocols.
  if (call.effort !== undefined && call.effort !== NO_EFFORT && isLacking('effort')) {
    ignored.addOfModel(names.effort);
  }
  const strict = call.tools?.findIndex((tool) => tool.strict === true) ?? -1;
  if (strict >= 0 && isLacking('strict')) ignored.addOfModel(names.strictTool(strict));
  if (isLacking('detail') && hasDetail(call.messages)) ignored.addOfModel(names.imageDetail);
  const oneByOne = hasTools && call.parallelToolCalls === false && isLacking('parallelToolCalls');
  if (oneByOne) ignored.requireLenient(names.parallelToolCalls);
  const required = call.toolChoice === 'required' && isLacking('toolChoice');
  if (required) ignored.requireLenient('tool_choice');
  return { oneByOne, required };
}

/** Notes the hints that have the same name in all protocols. */
export function noteLacking(
  call: Pick<ChatCall, keyof typeof NAMES>,
  model: ResolvedChatModel,
  ignored: IgnoredParameters,
): void {
  for (const hint of Object.keys(NAMES) as (keyof typeof NAMES)[]) {
    if (call[hint] !== undefined && !honouredBy(model).has(hint)) ignored.addOfModel(NAMES[hint]);
  }
}

function honouredBy({ adapter, connection }: ResolvedChatModel): ReadonlySet<Hint> {
  return HONOURED[adapter.protocol(connection.address)];
}

/** Features that Plinth enforces if the model's protocol lacks them. */
export interface EmulatedChoice {
  /** Only one tool call at a time. */
  readonly oneByOne: boolean;
  /** A tool call is required. */
  readonly required: boolean;
}

function hasDetail(messages: readonly ChatMessage[]): boolean {
  return messages.some(
    ({ content }) =>
      typeof content !== 'string' &&
      content.some((part) => part.type !== 'text' && part.detail !== undefined),
  );
}
