import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY } from '../address.js';
import { bearerOf, EventStreamDecoder } from '../model-call.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError } from '../upstream.error.js';
import {
  throwIfError,
  firstRecordIn,
  isRecord,
  recordIn,
  recordsIn,
  textIn,
  wholeNumberIn,
} from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import type { ChatProtocol, ModelListPath } from './protocol.adapter.js';
import { namedGeneration } from './chat.adapter.js';
import type {
  ChatCall,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ContentPart,
  FinishReason,
  GenerationNames,
  OmittedCalls,
  RelayedBody,
  ResponseFormat,
  ToolCall,
} from './chat.adapter.js';
import { AnswerStream, completionOf, usageIn } from './stream-mapping.js';
import type { FoundState, StateData } from './stream-mapping.js';
import { argumentsIn, sentInput } from './answer-text.js';
import type { ToolCallPiece } from './answer-text.js';
import { textEndpointBeside } from './text-completion.js';
import { isStrictSchema, withInstruction } from './response-format.js';
import { z } from 'zod';

export interface ChatCompletionsPreset extends Vendor {
  readonly dialect: ChatCompletionsDialect;
  /** A list of models of the vendor that says more than the one beside the endpoint. */
  readonly modelList?: ModelListPath;
}

/** The chat-completions protocol: POST {address}/chat/completions with a bearer key. */
export function chatCompletions({
  address: addressForm,
  dialect,
  modelList,
}: Omit<ChatCompletionsPreset, 'code' | 'label'>): ChatProtocol {
  const form = { ...FAMILY, ...addressForm, endpoint: '/chat/completions' };
  return {
    name: 'chat-completions',
    endpoint: (address) => endpointOf(address, form),
    textEndpoint: (address) => textEndpointBeside(endpointOf(address, form)),
    headers: ({ credential }) => bearerOf(credential),
    body: (call, stream) => toChatCompletionsBody(call, stream, dialect),
    modelList,
    relayed: {
      body: (body) => toRelayedBody(body, dialect),
      headers: [],
      isUsageAlone,
    },
    answerStream: (secrets, withThinking, { omittedCalls }) =>
      new ChatCompletionsStream(secrets, withThinking, omittedCalls),
    toCompletion,
  };
}

/** The differences between vendors of the chat-completions protocol. */
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

/** OpenAI refuses more stop sequences (API reference, 2026-11). The text ends at the others all the same. */
const MAX_STOP_COUNT = 4;

const GENERATION_NAMES: GenerationNames = {
  temperature: 'temperature',
  topP: 'top_p',
  // The dialect has its name.
  maxTokens: null,
  stop: null,
  seed: 'seed',
  // OpenAI has no such field; other vendors differ.
  topK: null,
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  effort: 'reasoning_effort',
  thinking: null,
  responseFormat: null,
};

/** The body of POST /chat/completions. */
export function toChatCompletionsBody(
  call: ChatCall,
  stream: boolean,
  dialect: ChatCompletionsDialect,
): Record<string, unknown> {
  const { responseFormat } = call;
  const isInText = responseFormat && dialect.json !== 'schema';
  const messages = isInText ? withInstruction(call.messages, responseFormat) : call.messages;
  const states = wantedStates(messages);
  return {
    model: call.model,
    messages: messages.map((message) => toWireMessage(message, states)),
    stream,
    ...(responseFormat && formatFields(responseFormat, dialect)),
    ...(stream && dialect.streamUsage && { stream_options: { include_usage: true } }),
    ...(call.tools?.length && toolFields(call)),
    ...namedGeneration(call, GENERATION_NAMES),
    [dialect.maxOutputField]: call.maxTokens,
    ...(call.stop?.length && { stop: call.stop.slice(0, MAX_STOP_COUNT) }),
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

function toWireMessage(message: ChatMessage, states: WantedStates): JsonRecord {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: toWireContent(message.content) };
    case 'assistant': {
      const { content, toolCalls = [], providerState } = message;
      const answer = toWireAnswer(content, toolCalls);
      if (!states.areWanted) return { role: 'assistant', ...answer };
      const state = { ...states.missing, ...(providerState && readState(providerState.data)) };
      return { role: 'assistant', ...withState(answer, state) };
    }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  }
}

/** The protocol wants null, not an empty text, where an answer holds only tool calls. */
function toWireAnswer(content: string, calls: readonly ToolCall[]): WireAnswer {
  if (calls.length === 0) return { content };
  return {
    content: content === '' ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: {
        name: call.name,
        arguments: call.invalid ? JSON.stringify(sentInput(call)) : call.arguments,
      },
    })),
  };
}

function toWireContent(content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
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

/** Maps a stream of chat-completion chunks. */
export class ChatCompletionsStream extends AnswerStream {
  private readonly collector = new StateCollector();
  /** A delta has come, so that a message repeats what the deltas have said. */
  private hasDelta = false;
  /** The text of messages in place of deltas. */
  private messageText = '';

  constructor(secrets: Secrets, withThinking: boolean, omittedCalls?: OmittedCalls) {
    super(new EventStreamDecoder(), secrets, withThinking, omittedCalls);
  }

  /** Only the end mark ends this protocol. */
  protected readEvent(chunk: JsonRecord, text: string, parts: ChatPart[]): false {
    throwIfError(chunk, this.secrets);
    // The request asks for one choice; a chunk without any carries usage or nothing.
    const choice = firstRecordIn(chunk, 'choices');
    const usage = usageIn(chunk, choice);
    if (usage !== undefined) this.state.setUsage(usage);
    if (choice === undefined) return false;
    this.readChoice(choice, parts);
    this.repeated.learn(text, choice);
    return false;
  }

  protected override stateData(): StateData | undefined {
    return this.collector.data(this.state);
  }

  private readChoice(choice: JsonRecord, parts: ChatPart[]): void {
    const { finish_reason: reason, delta, message } = choice;
    const raw = typeof reason === 'string' ? reason : '';
    const hasFinish = raw !== '' && raw !== 'null';
    if (isRecord(delta) && !isEmpty(delta)) this.readDelta(delta, parts);
    else if (isRecord(message)) this.readMessage(message, hasFinish, parts);
    // The legacy completions API has `text`.
    else this.state.addText(textIn(choice, 'text'), parts);
    if (hasFinish) this.state.setFinish(toFinishReason(raw), raw, parts);
  }

  /** A message in place of a delta: more of the answer, or, at its end, the complete answer again. */
  private readMessage(message: JsonRecord, isLast: boolean, parts: ChatPart[]): void {
    const fields = fieldsIn(message);
    const repeatsText = isLast && fields.text.startsWith(this.messageText);
    const text = repeatsText ? fields.text.slice(this.messageText.length) : fields.text;
    this.messageText += text;
    if (!isLast || !(this.hasDelta || this.state.hasAnyThinking)) {
      this.collector.add(message);
      this.state.addThinking(fields.thinking, parts);
    }
    if (!this.hasDelta || !this.state.hasAnyText) this.state.addText(text, parts);
    if (!this.hasDelta) this.state.addRefusal(fields.refusal, parts);
    if (!(isLast && this.state.hasCalls))
      for (const call of fields.calls) this.state.addToolCall(call);
  }

  private readDelta(delta: JsonRecord, parts: ChatPart[]): void {
    this.hasDelta ||= 'content' in delta || 'reasoning_content' in delta || 'tool_calls' in delta;
    this.collector.add(delta);
    const { thinking, text, refusal, calls } = fieldsIn(delta);
    this.state.addThinking(thinking, parts);
    this.state.addText(text, parts);
    this.state.addRefusal(refusal, parts);
    for (const call of calls) this.state.addToolCall(call);
  }
}

interface AnswerFields {
  readonly thinking: string;
  readonly text: string;
  readonly refusal: string | undefined;
  readonly calls: readonly ToolCallPiece[];
}

const NO_CALLS: readonly ToolCallPiece[] = [];

/** The fields of a message or a delta. Where several fields mean one thing, the one that is not empty counts. */
function fieldsIn(message: JsonRecord): AnswerFields {
  const { content, reasoning_content: named, reasoning, reasoning_details: details } = message;
  const { refusal } = message;
  const isList = Array.isArray(content);
  return {
    thinking:
      textOr(named, '') ||
      textOr(reasoning, '') ||
      (isList ? partsText(content, 'thinking') : '') ||
      detailsText(details),
    text: isList ? partsText(content, 'text') : textOr(content, ''),
    refusal: textOr(refusal, undefined),
    calls: callsIn(message),
  };
}

function textOr<T>(value: unknown, other: T): string | T {
  return typeof value === 'string' ? value : other;
}

function isEmpty(record: JsonRecord): boolean {
  for (const _ in record) return false;
  return true;
}

/** The text of the parts of a content, or what the thinking parts among them say. */
function partsText(content: readonly unknown[], kind: 'text' | 'thinking'): string {
  const texts = content.map((part) => {
    if (!isRecord(part)) return kind === 'text' && typeof part === 'string' ? part : '';
    const isThinking = part['type'] === 'thinking';
    if (kind === 'thinking') return isThinking ? thoughtIn(part['thinking']) : '';
    return isThinking ? '' : (textIn(part, 'text') ?? '');
  });
  return texts.join('');
}

/** MiniMax (`reasoning_split`) and some models of OpenRouter put their thinking only into details. */
function detailsText(details: unknown): string {
  if (!Array.isArray(details)) return '';
  const texts = details.map((detail) =>
    isRecord(detail) ? (textIn(detail, 'text') ?? textIn(detail, 'summary') ?? '') : '',
  );
  return texts.join('');
}

function callsIn(message: JsonRecord): readonly ToolCallPiece[] {
  const { tool_calls: calls, function_call: older } = message;
  if (Array.isArray(calls) && calls.length > 0)
    return recordsIn(message, 'tool_calls').map(pieceOf);
  return isRecord(older) ? [pieceOf({ function: older })] : NO_CALLS;
}

function pieceOf(call: JsonRecord): ToolCallPiece {
  const named = recordIn(call, 'function');
  const index = call['index'];
  const isDigits = typeof index === 'string' && /^\d{1,4}$/.test(index);
  return {
    index: isDigits ? Number(index) : wholeNumberIn(call, 'index'),
    id: textIn(call, 'id'),
    name: named && textIn(named, 'name'),
    arguments: argumentsIn(named?.['arguments']),
    extra: recordIn(call, 'extra_content'),
  };
}

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(
  answer: unknown,
  secrets: Secrets,
  { omittedCalls }: ChatCall,
): ChatCompletion {
  throwIfError(answer, secrets);
  const record = isRecord(answer) ? answer : {};
  const choice = firstRecordIn(record, 'choices');
  // The last are those of gateways that answer a chunk of a stream, and of the older completions.
  const message =
    choice &&
    (recordIn(choice, 'message') ?? recordIn(choice, 'delta') ?? { content: choice['text'] });
  if (choice === undefined || message === undefined) {
    throw protocolError(msg`The provider answered without a choice.`);
  }
  const collector = new StateCollector();
  collector.add(message);
  const { thinking, text, refusal, calls } = fieldsIn(message);
  const raw = textIn(choice, 'finish_reason') ?? '';
  return completionOf({
    text,
    reasoning: thinking,
    refusal: refusal ?? '',
    // Each call is whole here, whatever its index.
    toolCalls: calls.map((call, index) => ({ ...call, index })),
    // An answer in one piece is whole, also where nothing says so.
    reason: raw === '' ? 'stop' : toFinishReason(raw),
    raw,
    usage: usageIn(record, choice),
    omittedCalls,
    stateDataOf: (state) => collector.data(state),
  });
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
  // Mistral
  ['model_length', 'length'],
  // Gateways that translate other protocols only in part
  ['eos', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool-calls'],
  ['tool_call', 'tool-calls'],
  ['safety', 'content-filter'],
  ['recitation', 'content-filter'],
  ['blocklist', 'content-filter'],
  ['prohibited_content', 'content-filter'],
  ['refusal', 'content-filter'],
  ['error', 'error'],
]);

/** Gemini adds the cause: `content_filter: SAFETY`. */
function toFinishReason(raw: string): FinishReason {
  const [word = raw] = raw.toLowerCase().split(':');
  return FINISH_REASONS.get(raw) ?? FINISH_REASONS.get(word.trim()) ?? 'other';
}

/**
 * State that services of chat-completions expect back with an answer that called a tool, in the spelling in which it came:
 * - `reasoning_content`: DeepSeek V4 refuses every later request without it (api-docs.deepseek.com, "Thinking Mode", 2026-04), also
 *   where it is empty; Kimi, GLM, MiMo and Qwen read it.
 * - `reasoning`: vLLM, Groq, OpenRouter. `reasoning_details`: OpenRouter ("Reasoning Tokens") and MiniMax; blocks come in pieces and
 *   go back whole.
 * - `extra_content` of a call: the thought signature without which Gemini 3 answers 400 (ai.google.dev, "Thought signatures").
 * - thinking parts of the content: Mistral.
 * - thinking between tags in the text: MiniMax M2 and Qwen3 read it there.
 */
type ChatCompletionsState = z.output<typeof stateSchema>;

/** Fields of a detail that come in pieces. */
const JOINED_FIELDS = ['text', 'summary', 'data'];

/** Collects the state in the pieces of an answer. */
export class StateCollector {
  private readonly texts: { reasoning_content?: string[]; reasoning?: string[] } = {};
  private readonly details: Record<string, unknown>[] = [];
  private readonly thinkingParts: Record<string, unknown>[] = [];
  private extra: JsonRecord | undefined;

  add(message: JsonRecord): void {
    // Most pieces have none of them, and this runs for each.
    const { reasoning_content: content, reasoning, extra_content: extra } = message;
    if (typeof content === 'string') (this.texts.reasoning_content ??= []).push(content);
    if (typeof reasoning === 'string') (this.texts.reasoning ??= []).push(reasoning);
    if (message['reasoning_details']) {
      for (const piece of recordsIn(message, 'reasoning_details')) this.addDetail(piece);
    }
    if (Array.isArray(message['content'])) {
      for (const part of recordsIn(message, 'content')) {
        if (part['type'] === 'thinking') this.addThinkingPart(part);
      }
    }
    if (isRecord(extra)) this.extra = { ...this.extra, ...extra };
  }

  data({ thinkingInText, callExtras, hasCalls }: FoundState): StateData | undefined {
    const { reasoning_content: content, reasoning } = this.texts;
    const isNamed = hasCalls && content !== undefined && reasoning === undefined;
    const thought = content?.join('');
    const data: ChatCompletionsState = {
      // The service requires the field even when it is empty.
      ...((thought || (isNamed && thought !== undefined)) && { reasoning_content: thought }),
      ...(reasoning?.some((text) => text !== '') && { reasoning: reasoning.join('') }),
      ...(this.details.length > 0 && { reasoning_details: this.details }),
      ...(this.thinkingParts.length > 0 && { thinking_parts: this.thinkingParts }),
      ...(this.extra && { extra_content: this.extra }),
      ...(thinkingInText !== '' && { thinking_in_text: thinkingInText }),
      ...(callExtras.length > 0 && { calls: callExtras }),
    };
    return Object.keys(data).length > 0 ? { ...data } : undefined;
  }

  /** Pieces of one block have its index and type; those without an index go on with the last block of their type. */
  private addDetail(piece: JsonRecord): void {
    const index = wholeNumberIn(piece, 'index');
    const last = this.details.at(-1);
    const block =
      index === undefined
        ? last && last['type'] === piece['type'] && !closes(last) && piece['type'] !== ENCRYPTED
          ? last
          : undefined
        : this.details.find((one) => one['index'] === index && one['type'] === piece['type']);
    if (block === undefined) {
      this.details.push({ ...piece });
      return;
    }
    for (const [field, value] of Object.entries(piece)) {
      const before = block[field];
      if (
        JOINED_FIELDS.includes(field) &&
        typeof value === 'string' &&
        typeof before === 'string'
      ) {
        block[field] = before + value;
      } else if (value !== null && value !== undefined) block[field] = value;
    }
  }

  private addThinkingPart(part: JsonRecord): void {
    const last = this.thinkingParts.at(-1);
    if (last === undefined) {
      this.thinkingParts.push({ ...part });
      return;
    }
    const { thinking, ...others } = part;
    const text = thoughtIn(last['thinking']) + thoughtIn(thinking);
    const joined = typeof thinking === 'string' ? text : [{ type: 'text', text }];
    Object.assign(last, others, { thinking: joined });
  }
}

const ENCRYPTED = 'reasoning.encrypted';

/** A signature ends a block. */
function closes(detail: JsonRecord): boolean {
  return typeof detail['signature'] === 'string' && detail['signature'] !== '';
}

/** The text of a thinking part: a text, or a list of text parts. */
export function thoughtIn(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  if (!Array.isArray(thinking)) return '';
  return thinking.map((one) => (isRecord(one) ? (textIn(one, 'text') ?? '') : '')).join('');
}

/** Clients of the compatible API keep states, so that one may hold anything. What is not of its type is left out. */
export function readState(data: StateData): ChatCompletionsState {
  const read: [string, unknown][] = Object.entries(stateSchema.safeParse(data).data ?? {});
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

const record = z.record(z.string(), z.unknown());
const stateSchema = z.object({
  reasoning_content: z.string().optional().catch(undefined),
  reasoning: z.string().optional().catch(undefined),
  reasoning_details: z.array(record).optional().catch(undefined),
  extra_content: record.optional().catch(undefined),
  thinking_parts: z.array(record).optional().catch(undefined),
  thinking_in_text: z.string().optional().catch(undefined),
  calls: z
    .array(z.object({ id: z.string(), extra: record.optional() }))
    .readonly()
    .optional()
    .catch(undefined),
});

/** The handling of states in the messages of a conversation. */
export interface WantedStates {
  readonly areWanted: boolean;
  /** The state of an answer that has none. */
  readonly missing: ChatCompletionsState;
}

/**
 * States go back in a conversation with calls of tools, with each of its answers. DeepSeek V4 and Kimi look for the thinking of all
 * answers then, be it empty where the model has not thought; without calls it is ignored, and the R1 that others serve refuses it.
 */
export function wantedStates(messages: readonly ChatMessage[]): WantedStates {
  const answers = messages.filter((message) => message.role === 'assistant');
  const hasField = answers.some(
    ({ providerState }) => typeof providerState?.data['reasoning_content'] === 'string',
  );
  return {
    areWanted: answers.some(({ toolCalls }) => !!toolCalls?.length),
    missing: hasField ? { reasoning_content: '' } : {},
  };
}

/** The fields of an answer that is sent back, beside its role. */
export interface WireAnswer {
  readonly content: string | null;
  readonly tool_calls?: readonly (JsonRecord & { readonly id: string })[];
}

/** The same with its state. */
export function withState(answer: WireAnswer, state: ChatCompletionsState): JsonRecord {
  const { thinking_parts: parts, thinking_in_text: inText, calls, ...fields } = state;
  const text = answer.content ?? '';
  return {
    ...answer,
    ...(inText && { content: inText + text }),
    ...(parts?.length && {
      content: [...parts, ...(text === '' ? [] : [{ type: 'text', text }])],
    }),
    ...fields,
    ...(calls && answer.tool_calls && { tool_calls: withExtras(answer.tool_calls, calls) }),
  };
}

/** Adds state to the calls: by id, or by position where the ids were changed. */
function withExtras(
  calls: NonNullable<WireAnswer['tool_calls']>,
  extras: NonNullable<ChatCompletionsState['calls']>,
): readonly JsonRecord[] {
  const isById = calls.some(({ id }) => extras.some((one) => one.id === id));
  return calls.map((call, at) => {
    const extra = (isById ? extras.find(({ id }) => id === call.id) : extras[at])?.extra;
    return extra ? { ...call, extra_content: extra } : call;
  });
}
