import type { ModelCallOptions, ModelConnection, Usage } from '../model-call.js';
import type { OfferedModel } from '../model-list.js';
import type { AdapterNames } from '../named-adapter.js';

/**
 * The contract of a chat model's adapter. An adapter holds no state of any tenant: the call, the
 * connection and the signal are arguments, and one instance serves every tenant at once.
 */
export interface ChatAdapter extends AdapterNames {
  /** The URL that would be called for a stored address. Pure; throws InvalidAddressError. */
  endpoint(address: string): string;

  /**
   * Streams an answer. Each array holds the parts of one read of the network and is never empty. Text
   * arrives as it was written, but for thinking between tags in it, which arrives as thinking; a tool call arrives once, whole
   * and parsed, and only if the answer is finished, unless `omittedCalls` of the call says otherwise; `provider-state` and
   * `usage` come at most once; `finish` comes exactly once and last. Leaving the loop, or the signal, ends the call
   * upstream at once. Fails with UpstreamError (or ForbiddenAddressError, InvalidAddressError) after
   * everything that came before the failure.
   */
  stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncIterable<readonly ChatPart[]>;

  /** The same as one answer. */
  complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion>;

  /** The protocol of the service at the address. Pure; throws InvalidAddressError. */
  protocol(address: string): ChatProtocolName;

  /** Whether requests of clients of the protocol can be passed on to the address as they are. */
  canRelay(address: string, protocol: ChatProtocolName): boolean;

  /**
   * Sends the body of a client's request to a service of the same protocol and passes its stream on: whole events, as
   * the service sent them. Ends and fails like `stream`.
   */
  relayStream(
    body: RelayedBody,
    connection: ModelConnection,
    options: RelayOptions,
  ): AsyncIterable<RelayedRead>;

  /** The same as one answer. */
  relay(
    body: RelayedBody,
    connection: ModelConnection,
    options: RelayOptions,
  ): Promise<RelayedAnswer>;

  /**
   * The answer of a service of the messages or the responses protocol to a request that is only counted. Undefined where the
   * protocol or the service does not count. Fails like `relay`.
   */
  relayCount(
    body: RelayedBody,
    connection: ModelConnection,
    options: RelayOptions,
  ): Promise<TokenCount | undefined>;

  /** The models that the service offers, as its list names them. Fails like `complete`. */
  listModels(
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<readonly OfferedModel[]>;
}

export interface RelayOptions extends ModelCallOptions {
  /** Headers of the client's request, of which the protocol picks those that change what the service does. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** False: usage is requested in a stream only for the parts. */
  readonly withUsage?: boolean;
}

export type ChatProtocolName = 'chat-completions' | 'messages' | 'ollama' | 'responses';

/** The body of a request as a client sent it, its unknown fields included. */
export type RelayedBody = Readonly<Record<string, unknown>>;

/** A read of a relayed stream. */
export interface RelayedRead {
  /** Whole events as the service sent them; undefined where the parts are all that there is. */
  readonly bytes: Buffer | undefined;
  /** The parts that the bytes mean. */
  readonly parts: readonly ChatPart[];
}

export interface RelayedAnswer {
  /** JSON as the service sent it. */
  readonly text: string;
  readonly usage: Usage | undefined;
}

/** A token count as services answer it. */
export interface TokenCount {
  readonly input_tokens: number;
}

/** The effort of a model that is not to think. */
export const NO_EFFORT = 'none';

/**
 * Generation parameters: how a model is to answer, whatever it is asked. The one list of them: GENERATION_KEYS, and the table of
 * each protocol, do not compile without a parameter that is added here.
 */
export interface Generation {
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  /** The text ends before the first of these, whether the service has them or not. */
  readonly stop?: readonly string[];
  /** Supported by some protocols only. */
  readonly seed?: number;
  /** The number of tokens that the model chooses among (top_k). Supported by some protocols only. */
  readonly topK?: number;
  /** −2 to 2. Only some protocols have them. */
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /**
   * The effort of a model that thinks, in the word of its service. Only some protocols have it, and of these the messages
   * protocol has no NO_EFFORT.
   */
  readonly effort?: string;
  /**
   * False: thinking text is not handed over, and where the protocol can, the model is told not to think. True changes nothing: models
   * that can think do.
   */
  readonly thinking?: boolean;
  /**
   * The answer is requested as JSON of this schema, as far as the protocol can, and arrives as text. The adapter does not
   * check it.
   */
  readonly responseFormat?: ResponseFormat;
}

const KEYS: Readonly<Record<keyof Generation, true>> = {
  temperature: true,
  topP: true,
  maxTokens: true,
  stop: true,
  seed: true,
  topK: true,
  frequencyPenalty: true,
  presencePenalty: true,
  effort: true,
  thinking: true,
  responseFormat: true,
};

export const GENERATION_KEYS = Object.keys(KEYS) as readonly (keyof Generation)[];

/** The generation parameters among the values that are set. */
export function generationIn(values: {
  readonly [Key in keyof Generation]?: Generation[Key] | null | undefined;
}): Generation {
  return Object.fromEntries(
    GENERATION_KEYS.flatMap((key) => {
      const value = values[key] ?? undefined;
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

/** A value or undefined for each parameter that is read from a request only by its name: none can be forgotten. */
export type RequestedGeneration = {
  readonly [Key in Exclude<keyof Generation, 'thinking' | 'effort' | 'responseFormat'>]:
    | Generation[Key]
    | undefined;
};

/**
 * The name of each generation parameter in the body of a protocol; null where it has none, or where the body says the parameter
 * in another way.
 */
export type GenerationNames = Readonly<Record<keyof Generation, string | null>>;

/** The parameters of a call by their names in a body. JSON leaves out those that are not set. */
export function namedGeneration(
  call: Generation,
  names: GenerationNames,
): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = {};
  for (const key of GENERATION_KEYS) {
    const name = names[key];
    if (name !== null) fields[name] = call[key];
  }
  return fields;
}

export interface ChatCall extends Generation {
  /** The id the service knows the model by. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Sent only together with tools. */
  readonly toolChoice?: 'auto' | 'none' | 'required';
  /** False: one call of a tool at a time. Only some protocols have it. */
  readonly parallelToolCalls?: boolean;
  /**
   * Tool calls that are left out of the answer. `cut`: the last one, where the answer reached its length limit and would fail.
   * `unusable`: those that are cut, that have no name, or whose arguments are not a JSON object.
   */
  readonly omittedCalls?: OmittedCalls;
  /**
   * A text to complete, for services that do that. `messages` ask any other one for the same. Streamed calls alone; fences
   * around an answer with a suffix are removed.
   */
  readonly completion?: TextCompletion;
}

export interface TextCompletion {
  readonly prompt: string;
  /** The text that follows the completion. */
  readonly suffix?: string;
}

export type OmittedCalls = 'cut' | 'unusable';

export interface ResponseFormat {
  readonly type: 'json_schema';
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  /** JSON Schema of an object. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Marks where a service may cache a prompt. Only the messages protocol has such marks; other services choose themselves. */
export interface CacheMark {
  readonly type: string;
  readonly ttl?: string;
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string; readonly cache?: CacheMark }
  | { readonly role: 'user'; readonly content: string | readonly ContentPart[] }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly toolCalls?: readonly ToolCall[];
      /** Sent back to the model that made the state; adapters drop the state of any other. */
      readonly providerState?: ProviderState;
    }
  | {
      readonly role: 'tool';
      readonly toolCallId: string;
      readonly name: string;
      readonly content: string;
      readonly cache?: CacheMark;
    };

export type ContentPart = (
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. Only chat-completions sends `detail`, of any image. */
  | {
      readonly type: 'image';
      readonly mimeType: string;
      readonly data: string;
      readonly detail?: 'low' | 'high';
    }
  | { readonly type: 'image-url'; readonly url: string; readonly detail?: 'low' | 'high' }
) & { readonly cache?: CacheMark };

/**
 * State of an answer that the service expects back in the next call: reasoning text beside a tool call, signed thinking
 * blocks, encrypted reasoning items, signatures of tool calls. Only the protocol that made it reads it.
 */
export interface ProviderState {
  /** Names protocol, service and model without revealing an address. */
  readonly origin: string;
  /** JSON of the protocol's own form. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The JSON text as the model wrote it; `{}` where it wrote none. */
  readonly arguments: string;
  /** The same, parsed strictly once; empty where `invalid` is set. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The arguments are not a JSON object. Such a call is never executed: the model reads that it failed. */
  readonly invalid?: true;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Arguments must follow the schema. Only some protocols have it. */
  readonly strict?: boolean;
  readonly cache?: CacheMark;
}

export type ChatPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'tool-call'; readonly toolCall: ToolCall }
  | { readonly type: 'provider-state'; readonly providerState: ProviderState }
  | { readonly type: 'usage'; readonly usage: Usage }
  | ({ readonly type: 'finish' } & Finish);

/** `raw` is the service's own word. */
export interface Finish {
  readonly reason: FinishReason;
  readonly raw?: string;
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other';

export interface ChatCompletion {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly providerState?: ProviderState;
  readonly finish: Finish;
  readonly usage?: Usage;
}
