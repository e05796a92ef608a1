import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY_ENDPOINTS } from '../address.js';
import { bearerOf } from '../model-call.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError, errorInAnswer } from '../upstream.error.js';
import {
  firstRecordIn,
  isRecord,
  wholeNumberIn,
  recordIn,
  recordsIn,
  textIn,
  textsIn,
} from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import type { Usage } from '../model-call.js';
import type { Secrets } from '../safe-text.js';
import { EventStreamDecoder } from '../stream-decoder.js';
import type { ChatProtocol } from './protocol.adapter.js';
import type {
  ChatCall,
  ChatMessage,
  ContentPart,
  ToolCall,
  ChatCompletion,
  ChatPart,
  FinishReason,
  OmittedCalls,
  RelayedBody,
  ResponseFormat,
} from './chat.adapter.js';
import { AnswerStream, completionOf } from './stream-mapping.js';
import { textEndpointBeside } from './text-completion.js';
import { isStrictSchema, withInstruction } from './response-format.js';

export interface ChatCompletionsPreset extends Vendor {
  readonly dialect: ChatCompletionsDialect;
}

/** The chat-completions protocol: POST {address}/chat/completions with a bearer key. */
export function chatCompletions({
  address: own,
  dialect,
}: Omit<ChatCompletionsPreset, 'code' | 'label'>): ChatProtocol {
  const form = { ...own, endpoint: '/chat/completions', siblings: FAMILY_ENDPOINTS };
  return {
    name: 'chat-completions',
    endpoint: (address) => endpointOf(address, form),
    textEndpoint: (address) => textEndpointBeside(endpointOf(address, form)),
    headers: ({ credential }) => bearerOf(credential),
    body: (call, stream) => toChatCompletionsBody(call, stream, dialect),
    relayed: {
      body: (body) => toRelayedBody(body, dialect),
      headers: [],
      textPlace: 'content',
      piecesIn,
      isUsageAlone,
    },
    answerStream: (secrets, withThinking, { omittedCalls }) =>
      new ChatCompletionsStream(secrets, withThinking, omittedCalls),
    toCompletion,
  };
}

/** What vendors of the chat-completions protocol differ in. */
interface ChatCompletionsDialect {
  /** Name of the field that limits the output. */
  readonly maxOutputField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` is understood; without it some services report no usage. */
  readonly streamUsage: boolean;
  /**
   * How JSON of a schema is requested. `schema`: `response_format` with the schema, which the service also shows to the
   * model. `schema-and-text`: the same, and the schema in the system text, because the service may only constrain what the
   * model writes. `object-and-text`: JSON mode, which knows no schema. `text`: in the system text alone.
   */
  readonly json: 'schema' | 'schema-and-text' | 'object-and-text' | 'text';
}

/** The body of POST /chat/completions. */
export function toChatCompletionsBody(
  call: ChatCall,
  stream: boolean,
  dialect: ChatCompletionsDialect,
): Record<string, unknown> {
  const { responseFormat } = call;
  const isInText = responseFormat && dialect.json !== 'schema';
  const messages = isInText ? withInstruction(call.messages, responseFormat) : call.messages;
  return {
    model: call.model,
    messages: messages.map((message) => toWireMessage(message)),
    stream,
    ...(responseFormat && formatFields(responseFormat, dialect)),
    ...(stream && dialect.streamUsage && { stream_options: { include_usage: true } }),
    ...(call.tools?.length && toolFields(call)),
    temperature: call.temperature,
    top_p: call.topP,
    [dialect.maxOutputField]: call.maxTokens,
    ...(call.stop?.length && { stop: call.stop }),
    seed: call.seed,
    reasoning_effort: call.effort,
  };
}

/**
 * A client's body for the service: as it is, but for the name of the output limit, of which services ignore or refuse the other,
 * and with usage requested in every stream.
 */
export function toRelayedBody(
  body: RelayedBody,
  { maxOutputField, streamUsage }: ChatCompletionsDialect,
): RelayedBody {
  const { max_tokens: older, max_completion_tokens: newer, ...rest } = body;
  const limit = newer ?? older;
  const options = isRecord(body['stream_options']) ? body['stream_options'] : {};
  const asksUsage = body['stream'] === true && streamUsage;
  return {
    ...rest,
    ...(limit !== undefined && { [maxOutputField]: limit }),
    ...(asksUsage && { stream_options: { ...options, include_usage: true } }),
  };
}

/** The places of the first answer are those of its delta, of which most services send one alone. */
function* piecesIn(chunk: JsonRecord): Generator<[place: string, piece: string]> {
  for (const choice of recordsIn(chunk, 'choices')) {
    const index = wholeNumberIn(choice, 'index') ?? 0;
    yield* textsIn(choice['delta'], index === 0 ? '' : `choice ${index}`);
  }
}

function isUsageAlone({ usage: counted, choices }: JsonRecord): boolean {
  return isRecord(counted) && Array.isArray(choices) && choices.length === 0;
}

function formatFields(
  { name, schema }: ResponseFormat,
  { json }: ChatCompletionsDialect,
): Record<string, unknown> {
  if (json === 'text') return {};
  if (json === 'object-and-text') return { response_format: { type: 'json_object' } };
  const strict = isStrictSchema(schema);
  return { response_format: { type: 'json_schema', json_schema: { name, schema, strict } } };
}

function toolFields(call: ChatCall): Record<string, unknown> {
  return {
    tools: call.tools?.map(({ name, description, inputSchema, strict }) => ({
      type: 'function',
      function: { name, description, parameters: inputSchema, ...(strict && { strict }) },
    })),
    tool_choice: call.toolChoice,
    ...(call.parallelToolCalls === false && { parallel_tool_calls: false }),
  };
}

function toWireMessage(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return { role: 'user', content: toWireContent(message.content) };
    case 'assistant':
      return toWireAnswer(message.content, message.toolCalls ?? []);
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  }
}

/** The protocol wants null, not an empty text, where an answer holds only tool calls. */
function toWireAnswer(content: string, calls: readonly ToolCall[]): Record<string, unknown> {
  if (calls.length === 0) return { role: 'assistant', content };
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

function toWireContent(content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return part;
      case 'image':
        return imageAt(`data:${part.mimeType};base64,${part.data}`, part.detail);
      case 'image-url':
        return imageAt(part.url, part.detail);
    }
  });
}

function imageAt(url: string, detail?: string): Record<string, unknown> {
  return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
}

/** The fields read from an answer in one piece, but usage, which may be anything; services may leave out or add any other. */
const chatCompletionSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        finish_reason: z.string().nullish(),
        message: z.looseObject({
          content: z
            .union([z.string(), z.array(z.looseObject({ text: z.string().nullish() }))])
            .nullish(),
          reasoning_content: z.string().nullish(),
          reasoning: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(
              z.looseObject({
                id: z.string().nullish(),
                // Calls of other tools have none.
                function: z
                  .looseObject({
                    name: z.string().nullish(),
                    arguments: z.string().nullish(),
                  })
                  .nullish(),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .nullish(),
});

/** Maps a stream of chat-completion chunks. */
export class ChatCompletionsStream extends AnswerStream {
  constructor(secrets: Secrets, withThinking: boolean, omittedCalls?: OmittedCalls) {
    super(new EventStreamDecoder(), secrets, withThinking, omittedCalls);
  }

  /** The end mark alone ends this protocol. */
  protected readEvent(chunk: JsonRecord, text: string, parts: ChatPart[]): false {
    throwIfError(chunk, this.secrets);
    const usage = usageIn(chunk);
    if (usage !== undefined) this.state.setUsage(usage);
    // Only the first choice is asked for; a chunk without any carries usage or nothing.
    const choice = firstRecordIn(chunk, 'choices');
    if (choice === undefined) return false;
    this.readChoice(choice, parts);
    this.repeated.learn(text, choice);
    return false;
  }

  private readChoice(choice: JsonRecord, parts: ChatPart[]): void {
    const delta = recordIn(choice, 'delta');
    if (delta !== undefined) this.readDelta(delta, parts);
    const reason = textIn(choice, 'finish_reason');
    if (reason !== undefined && reason !== '') {
      this.state.setFinish(toFinishReason(reason), reason, parts);
    }
  }

  private readDelta(delta: JsonRecord, parts: ChatPart[]): void {
    this.state.addThinking(textIn(delta, 'reasoning_content') ?? textIn(delta, 'reasoning'), parts);
    this.state.addText(toText(delta['content']), parts);
    this.state.addRefusal(textIn(delta, 'refusal'), parts);
    if (!Array.isArray(delta['tool_calls'])) return;
    for (const call of recordsIn(delta, 'tool_calls')) {
      const named = recordIn(call, 'function');
      this.state.addToolCall({
        index: wholeNumberIn(call, 'index'),
        id: textIn(call, 'id'),
        name: named && textIn(named, 'name'),
        arguments: named && textIn(named, 'arguments'),
      });
    }
  }
}

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(
  answer: unknown,
  secrets: Secrets,
  withThinking: boolean,
  { omittedCalls }: ChatCall,
): ChatCompletion {
  if (isRecord(answer)) throwIfError(answer, secrets);
  const parsed = chatCompletionSchema.safeParse(answer);
  const choice = parsed.data?.choices?.[0];
  if (choice === undefined) {
    throw protocolError(msg`The provider answered without a choice.`, parsed.error);
  }
  const { message } = choice;
  const raw = choice.finish_reason ?? '';
  return completionOf({
    text: toText(message.content),
    reasoning: withThinking ? (message.reasoning_content ?? message.reasoning ?? '') : '',
    refusal: message.refusal ?? '',
    toolCalls: (message.tool_calls ?? []).map((call, index) => ({
      index,
      id: call.id ?? undefined,
      name: call.function?.name ?? undefined,
      arguments: call.function?.arguments ?? undefined,
    })),
    reason: toFinishReason(raw),
    raw,
    usage: parsed.data && usageIn(parsed.data),
    omittedCalls,
  });
}

/** Errors come as `{error}`, as `{object: "error", …}`, or as `{code, message}` without choices. */
function throwIfError(answer: JsonRecord, secrets: Secrets): void {
  const error = answer['error'];
  if (error !== undefined && error !== null) throw errorInAnswer(error, secrets);
  if (answer['object'] === 'error') throw errorInAnswer(answer, secrets);
  if (
    answer['choices'] === undefined &&
    textIn(answer, 'message') !== undefined &&
    answer['code']
  ) {
    throw errorInAnswer(answer, secrets);
  }
}

/** Mostly a text; some vendors send a list of text pieces. */
function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((piece) => (isRecord(piece) ? (textIn(piece, 'text') ?? '') : '')).join('');
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  // Zhipu
  ['sensitive', 'content-filter'],
  ['network_error', 'error'],
  // DeepSeek
  ['insufficient_system_resource', 'error'],
  // Gateways that translate other protocols only in part
  ['eos', 'stop'],
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['error', 'error'],
]);

function toFinishReason(raw: string): FinishReason {
  return FINISH_REASONS.get(raw) ?? 'other';
}

function usageIn(answer: JsonRecord): Usage | undefined {
  const raw = recordIn(answer, 'usage');
  return raw && toUsage(raw);
}

function toUsage(raw: JsonRecord): Usage {
  const prompt = recordIn(raw, 'prompt_tokens_details');
  const completion = recordIn(raw, 'completion_tokens_details');
  return {
    inputTokens: wholeNumberIn(raw, 'prompt_tokens'),
    outputTokens: wholeNumberIn(raw, 'completion_tokens'),
    totalTokens: wholeNumberIn(raw, 'total_tokens'),
    // DeepSeek names its cache hits itself.
    cachedInputTokens:
      wholeNumberIn(prompt, 'cached_tokens') ?? wholeNumberIn(raw, 'prompt_cache_hit_tokens'),
    reasoningTokens: wholeNumberIn(completion, 'reasoning_tokens'),
    raw,
  };
}
