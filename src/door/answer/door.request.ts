import type { Failure } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { InvalidResponseFormatError } from '../../agent/index.js';
import type { FormatNames, Source, TurnPart } from '../../agent/index.js';
import { NO_EFFORT } from '../../provider/index.js';
import type {
  ChatCall,
  ChatMessage,
  ChatProtocolName,
  RelayOptions,
} from '../../provider/index.js';
import { ParameterError, UnsupportedParameterError } from './door.errors.js';

/** A request whose answer counts as open until it is written. */
export interface HeldRequest {
  readonly stream: boolean;
  /** The last event of a stream that failed. No end mark follows, so that no client takes the answer for whole. */
  failureEvent(failure: Failure): string;
}

/** One request in the protocol of its client: reads it, and writes its answer. */
export interface DoorRequest extends HeldRequest {
  readonly model: string;
  /** As it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** How it is passed on to a model of the same protocol; undefined where no model speaks it. */
  readonly relay: RelayedRequest | undefined;
  readonly names: ParameterNames;
  /** Throws ParameterError, and UnsupportedParameterError for what no translation can honour. */
  translate(): TranslatedCall;
  /** A new one for each answer. */
  writer(isAgent: boolean): AnswerWriter;
}

export interface RelayedRequest extends Pick<RelayOptions, 'withUsage' | 'headers'> {
  readonly protocol: ChatProtocolName;
}

/** What a protocol calls the parameters that some models cannot honour. */
export interface ParameterNames {
  readonly message: (index: number) => string;
  readonly messages: string;
  readonly format: string;
  readonly formatParts: FormatNames;
  readonly parallelToolCalls: string;
  readonly imageDetail: string;
  readonly strictTool: (index: number) => string;
  readonly effort: string;
}

/** Writes one answer in the protocol. An agent's own calls of tools are not part of it. */
export interface AnswerWriter {
  /** The events of the parts; empty where they add nothing that a client sees. */
  add(parts: readonly TurnPart[]): string;
  /** The last events. Rejects where the answer is not whole. */
  end(context: AnswerContext): string | Promise<string>;
  /** The answer in one piece. Rejects where it is not whole. */
  whole(context: AnswerContext): object | Promise<object>;
}

/** What an answer was made from. */
export interface AnswerContext {
  /** The messages that were sent to the model, for counts that the service does not report. */
  readonly sent: readonly ChatMessage[];
  /** The fragments that an agent was given; undefined for a model. */
  readonly sources?: readonly Source[] | undefined;
}

/** A request in the words of the adapters. */
export interface TranslatedCall extends Omit<ChatCall, 'model' | 'responseFormat'> {
  /** What ResponseFormats reads. */
  readonly format: Readonly<Record<string, unknown>> | undefined;
}

/** An error of the schema of an answer names the parameter that it came in. */
export function withParameter(error: unknown, { format, formatParts }: ParameterNames): unknown {
  return error instanceof InvalidResponseFormatError
    ? new ParameterError(format, error.messageFor(formatParts))
    : error;
}

/** Throws UnsupportedParameterError for what the protocol of the model has no words for, and ParameterError. */
export function refuseUntranslatable(
  call: Omit<TranslatedCall, 'format'>,
  protocol: ChatProtocolName,
  names: ParameterNames,
): void {
  if (call.toolChoice === 'required' && !call.tools?.length) {
    throw new ParameterError(
      'tool_choice',
      msg`tool_choice calls for a tool, and there is none. Send tools, or remove it.`,
    );
  }
  if (call.seed !== undefined && protocol === 'messages') {
    throw new UnsupportedParameterError('seed');
  }
  if (call.toolChoice === 'required' && protocol === 'ollama') {
    throw new UnsupportedParameterError('tool_choice');
  }
  if (call.parallelToolCalls === false && call.tools?.length && protocol === 'ollama') {
    throw new UnsupportedParameterError(names.parallelToolCalls);
  }
  if (call.effort !== undefined && call.effort !== NO_EFFORT && protocol === 'ollama') {
    throw new UnsupportedParameterError(names.effort);
  }
  const strict = call.tools?.findIndex((tool) => tool.strict === true) ?? -1;
  if (strict >= 0 && protocol === 'ollama') {
    throw new UnsupportedParameterError(names.strictTool(strict));
  }
  const parts = call.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  );
  const hasDetail = parts.some((part) => part.type !== 'text' && part.detail !== undefined);
  if (hasDetail && protocol !== 'chat-completions') {
    throw new UnsupportedParameterError(names.imageDetail);
  }
}
