import { msg } from '../../../platform/message/index.js';
import { endpointOf, MESSAGES_FAMILY } from '../address.js';
import type { ModelConnection, Usage } from '../model-call.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError } from '../upstream.error.js';
import {
  countIn,
  errorInAnswer,
  throwIfError,
  isRecord,
  wholeNumberIn,
  recordIn,
  recordsIn,
  textIn,
} from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import type { Secrets } from '../safe-text.js';
import { billedUsage, EventStreamDecoder } from '../model-call.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { namedGeneration, NO_EFFORT } from './chat.adapter.js';
import type {
  CacheMark,
  ChatCall,
  ChatMessage,
  ContentPart,
  ToolCall,
  ChatCompletion,
  ChatPart,
  FinishReason,
  GenerationNames,
  OmittedCalls,
  ProviderState,
  ResponseFormat,
} from './chat.adapter.js';
import { cloudEndpoint, cloudRequest } from './messages.clouds.js';
import { withInstruction } from './response-format.js';
import { AnswerStream, completionOf, thinkingTokens, totalOf } from './stream-mapping.js';
import type { StateData } from './stream-mapping.js';
import { argumentsIn, sentInput } from './answer-text.js';

const DEFAULT_PROTOCOL_VERSION = '2023-06-01';

/** The messages protocol: POST {address}/messages with x-api-key and anthropic-version. */
export function messages(addressForm: Vendor['address']): ChatProtocol {
  const form = { ...MESSAGES_FAMILY, ...addressForm, endpoint: '/messages' };
  return {
    name: 'messages',
    endpoint: (address) => cloudEndpoint(address) ?? endpointOf(address, form),
    placed: cloudRequest,
    headers: headersOf,
    body: toMessagesBody,
    answerStream: (secrets, withThinking, call) =>
      new MessagesStream(secrets, withThinking, answerToolOf(call)?.name, call.omittedCalls),
    toCompletion,
    relayed: {
      body: (body) => body,
      headers: ['anthropic-version', 'anthropic-beta'],
      isUsageAlone: () => false,
    },
    countEndpoint: (address) =>
      cloudEndpoint(address) ??
      endpointOf(address, form).replace(/\/messages(?=\?|$)/, '/messages/count_tokens'),
  };
}

function headersOf({ credential, protocolVersion }: ModelConnection): Record<string, string> {
  const key = credential?.trim() ?? '';
  return {
    'anthropic-version': protocolVersion?.trim() || DEFAULT_PROTOCOL_VERSION,
    ...(key !== '' && { 'x-api-key': key }),
  };
}

/** The protocol requires a limit; callers who know the model's window set one that fits. */
export const DEFAULT_MAX_TOKENS = 4096;

interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Record<string, unknown>[];
}

/**
 * The protocol has no format of an answer that all of its services know. It has tools whose arguments follow a schema: the
 * answer is requested as the arguments of one that must be called. Where a call offers tools, this would keep the model from
 * using them, so that the schema is in the system text.
 */
function answerToolOf({ responseFormat, tools }: ChatCall): ResponseFormat | undefined {
  return tools?.length ? undefined : responseFormat;
}

const GENERATION_NAMES: GenerationNames = {
  temperature: 'temperature',
  topP: 'top_p',
  // Required by the protocol, so the body has it with a default.
  maxTokens: null,
  stop: null,
  seed: null,
  topK: 'top_k',
  frequencyPenalty: null,
  presencePenalty: null,
  effort: null,
  thinking: null,
  responseFormat: null,
};

/** The body of POST /messages. */
export function toMessagesBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  const answerTool = answerToolOf(call);
  const isInText = call.responseFormat && answerTool === undefined;
  const messages = isInText ? withInstruction(call.messages, call.responseFormat) : call.messages;
  const system = messages.filter((message) => message.role === 'system');
  // Anthropic refuses sequences that are only white space (API reference, 2026-11). The text ends at them all the same.
  const stop = call.stop?.filter((sequence) => sequence.trim() !== '');
  return {
    model: call.model,
    max_tokens: call.maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length > 0 && { system: systemOf(system) }),
    messages: toWireMessages(call.messages),
    stream,
    ...(call.tools?.length && toolFields(call)),
    ...(answerTool && answerFields(answerTool)),
    ...namedGeneration(call, GENERATION_NAMES),
    ...(stop?.length && { stop_sequences: stop }),
    ...(call.effort !== undefined &&
      call.effort !== NO_EFFORT && { output_config: { effort: call.effort } }),
  };
}

/** A text, or its blocks where one of them is marked. */
function systemOf(
  messages: readonly Extract<ChatMessage, { role: 'system' }>[],
): string | Record<string, unknown>[] {
  if (messages.every(({ cache }) => !cache)) {
    return messages.map(({ content }) => content).join('\n\n');
  }
  return messages.flatMap(({ content, cache }) => textBlocks(content, cache));
}

function cacheField(cache: CacheMark | undefined): Record<string, unknown> {
  return cache ? { cache_control: cache } : {};
}

const TOOL_CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const;

function toolFields(call: ChatCall): Record<string, unknown> {
  const isOneByOne = call.parallelToolCalls === false && call.toolChoice !== 'none';
  const choice = call.toolChoice ?? (isOneByOne ? 'auto' : undefined);
  return {
    tools: call.tools?.map(({ name, description, inputSchema, strict, cache }) => ({
      name,
      description,
      input_schema: inputSchema,
      ...(strict && { strict }),
      ...cacheField(cache),
    })),
    ...(choice && {
      tool_choice: {
        type: TOOL_CHOICES[choice],
        ...(isOneByOne && { disable_parallel_tool_use: true }),
      },
    }),
  };
}

function answerFields({ name, schema }: ResponseFormat): Record<string, unknown> {
  const description = 'Gives the answer. Its arguments are the whole answer.';
  return {
    tools: [{ name, description, input_schema: schema }],
    tool_choice: { type: 'tool', name },
  };
}

/**
 * Roles alternate in this protocol and tool results are the user's, so neighbours of one role become
 * one message. A message without content is refused there and is left out.
 */
function toWireMessages(messages: readonly ChatMessage[]): readonly WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = toBlocks(message);
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) wire.push({ role, content });
  }
  return wire;
}

function toBlocks(message: Exclude<ChatMessage, { role: 'system' }>): Record<string, unknown>[] {
  switch (message.role) {
    case 'user':
      return toUserBlocks(message.content);
    case 'assistant':
      return [
        ...thinkingBlocks(message.providerState),
        ...textBlocks(message.content),
        ...(message.toolCalls ?? []).map(toToolUse),
      ];
    case 'tool':
      return [
        {
          type: 'tool_result',
          tool_use_id: message.toolCallId,
          content: message.content,
          ...cacheField(message.cache),
        },
      ];
  }
}

function toUserBlocks(content: string | readonly ContentPart[]): Record<string, unknown>[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part) => {
    switch (part.type) {
      case 'text':
        return textBlocks(part.text, part.cache);
      case 'image':
        return [image({ type: 'base64', media_type: part.mimeType, data: part.data }, part.cache)];
      case 'image-url':
        return [image({ type: 'url', url: part.url }, part.cache)];
    }
  });
}

function textBlocks(text: string, cache?: CacheMark): Record<string, unknown>[] {
  return text === '' ? [] : [{ type: 'text', text, ...cacheField(cache) }];
}

function image(source: Record<string, unknown>, cache?: CacheMark): Record<string, unknown> {
  return { type: 'image', source, ...cacheField(cache) };
}

function toToolUse(call: ToolCall): Record<string, unknown> {
  return { type: 'tool_use', id: call.id, name: call.name, input: sentInput(call) };
}

/** The thinking blocks that services want back, verbatim and before the others; without them, a loop with tools ends in 400. */
function thinkingBlocks(state: ProviderState | undefined): Record<string, unknown>[] {
  if (!state) return [];
  // Clients of the compatible API keep states, so that one may hold anything.
  return recordsIn(state.data, 'blocks').flatMap((block) => {
    if (!THINKING_BLOCKS.has(block['type'])) return [];
    const fields = Object.entries(block).filter(
      ([name, value]) => THINKING_FIELDS.has(name) && typeof value === 'string',
    );
    return [Object.fromEntries(fields)];
  });
}

const THINKING_BLOCKS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);
const THINKING_FIELDS: ReadonlySet<string> = new Set(['type', 'thinking', 'signature', 'data']);

/** The state of an answer; undefined without thinking. */
function stateOf(blocks: readonly JsonRecord[]): StateData | undefined {
  const statefulBlocks = blocks.filter(
    (block) => block['type'] !== 'thinking' || !!block['thinking'] || !!block['signature'],
  );
  return statefulBlocks.length > 0 ? { blocks: statefulBlocks } : undefined;
}

/** The index of a block that a gateway sends without its position. */
const NO_INDEX = -1;

/** Maps a stream of the messages protocol. */
export class MessagesStream extends AnswerStream {
  /** The input count comes at the start, the output count at the end. */
  private usage: JsonRecord = {};
  /** The block whose arguments are the answer. */
  private answerIndex: number | undefined;
  /** Blocks of thinking by their position, in the order in which they came. */
  private readonly thinking = new Map<number, Record<string, unknown>>();
  /** Blocks of the service itself, whose pieces are skipped: searches, code that it runs, their results. */
  private readonly foreign = new Set<number>();

  /** `answerTool` is the tool whose arguments are the answer. */
  constructor(
    secrets: Secrets,
    withThinking: boolean,
    private readonly answerTool?: string,
    omittedCalls?: OmittedCalls,
  ) {
    super(new EventStreamDecoder(), secrets, withThinking, omittedCalls);
  }

  protected readEvent(event: JsonRecord, _: string, parts: ChatPart[]): boolean {
    switch (event['type']) {
      case 'content_block_delta':
        this.readDelta(event, recordIn(event, 'delta'), parts);
        break;
      case 'content_block_start':
        this.readBlock(event, recordIn(event, 'content_block'), parts);
        break;
      case 'message_start':
        this.readUsage(recordIn(event, 'message') ?? {});
        break;
      case 'message_delta':
        this.readMessageDelta(event, parts);
        break;
      case 'message_stop':
        return true;
      case 'error':
        throw errorInAnswer(event['error'] ?? event, this.secrets);
      default:
        // ping, content_block_stop, and what later versions add; or an error without a type.
        throwIfError(event, this.secrets);
    }
    return false;
  }

  protected override stateData(): StateData | undefined {
    return stateOf([...this.thinking.values()]);
  }

  private readDelta(event: JsonRecord, delta: JsonRecord | undefined, parts: ChatPart[]): void {
    const index = wholeNumberIn(event, 'index');
    if (delta === undefined || this.foreign.has(index ?? NO_INDEX)) return;
    this.state.addText(textIn(delta, 'text'), parts);
    this.readThinking(index ?? NO_INDEX, delta, parts);
    const json = textIn(delta, 'partial_json');
    if (json === undefined) return;
    if (this.answerIndex === (index ?? NO_INDEX)) this.state.addText(json, parts);
    else this.state.addToolCall({ index, arguments: json });
  }

  private readBlock(event: JsonRecord, block: JsonRecord | undefined, parts: ChatPart[]): void {
    if (block === undefined) return;
    const index = wholeNumberIn(event, 'index');
    const type = block['type'];
    this.foreign.delete(index ?? NO_INDEX);
    if (type !== 'tool_use') {
      if (THINKING_BLOCKS.has(type)) this.beginThinking(index ?? NO_INDEX, block, parts);
      else if (type === 'text' || type === undefined)
        this.state.addText(textIn(block, 'text'), parts);
      else this.foreign.add(index ?? NO_INDEX);
      return;
    }
    // The input is empty here and comes in pieces; some gateways send it whole instead.
    const { input } = block;
    const isEmpty = isRecord(input) && Object.keys(input).length === 0;
    const whole = isEmpty ? undefined : argumentsIn(input);
    const name = textIn(block, 'name');
    if (this.answerTool !== undefined && name === this.answerTool) {
      this.answerIndex = index ?? NO_INDEX;
      this.state.addText(whole, parts);
      return;
    }
    this.state.addToolCall({
      index,
      id: textIn(block, 'id'),
      name,
      ...(whole !== undefined && { arguments: whole }),
    });
  }

  private beginThinking(at: number, block: JsonRecord, parts: ChatPart[]): void {
    const position = at === NO_INDEX ? -2 - this.thinking.size : at;
    this.thinking.set(position, { ...block });
    this.state.addThinking(textIn(block, 'thinking'), parts);
  }

  private readThinking(at: number, delta: JsonRecord, parts: ChatPart[]): void {
    const thought = textIn(delta, 'thinking');
    const signature = textIn(delta, 'signature');
    if (thought === undefined && signature === undefined) return;
    this.state.addThinking(thought, parts);
    const block = this.thinkingAt(at);
    if (thought !== undefined) block['thinking'] = `${textIn(block, 'thinking') ?? ''}${thought}`;
    if (signature !== undefined) {
      block['signature'] = `${textIn(block, 'signature') ?? ''}${signature}`;
    }
  }

  /** Some gateways omit the start of a block, or its position. */
  private thinkingAt(at: number): Record<string, unknown> {
    const existing = at === NO_INDEX ? [...this.thinking.values()].at(-1) : this.thinking.get(at);
    if (existing) return existing;
    const block = { type: 'thinking', thinking: '' };
    this.thinking.set(at, block);
    return block;
  }

  private readMessageDelta(event: JsonRecord, parts: ChatPart[]): void {
    this.readUsage(event);
    const reason = textIn(recordIn(event, 'delta') ?? {}, 'stop_reason');
    if (reason === undefined) return;
    this.state.setFinish(answerReason(reason, this.answerIndex !== undefined), reason, parts);
  }

  private readUsage(holder: JsonRecord): void {
    const usage = recordIn(holder, 'usage');
    if (usage === undefined) return;
    // A later event repeats some counts, and leaves others out as null or zero; breakdowns come at the start only.
    const counted = Object.entries(usage).filter(([, value]) => !isNothing(value));
    this.usage = { ...usage, ...this.usage, ...Object.fromEntries(counted) };
    this.state.setUsage(toUsage(this.usage));
  }
}

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(answer: unknown, secrets: Secrets, call: ChatCall): ChatCompletion {
  throwIfError(answer, secrets);
  const answerTool = answerToolOf(call)?.name;
  if (!isRecord(answer) || !Array.isArray(answer['content'])) {
    throw protocolError(msg`The provider answered without a message.`);
  }
  const content = recordsIn(answer, 'content');
  const usage = recordIn(answer, 'usage');
  const raw = textIn(answer, 'stop_reason') ?? '';
  const isAnswer = (block: JsonRecord): boolean =>
    block['type'] === 'tool_use' && answerTool !== undefined && block['name'] === answerTool;
  const thinking = content.filter(({ type }) => THINKING_BLOCKS.has(type));
  return completionOf({
    text: content.map((block) => textOfBlock(block, isAnswer(block))).join(''),
    reasoning: thinking.map((block) => textIn(block, 'thinking') ?? '').join(''),
    toolCalls: content
      .filter((block) => block['type'] === 'tool_use' && !isAnswer(block))
      .map((block, index) => ({
        index,
        id: textIn(block, 'id'),
        name: textIn(block, 'name'),
        arguments: argumentsIn(block['input']),
      })),
    reason: answerReason(raw, content.some(isAnswer)),
    raw,
    usage: usage ? toUsage(usage) : undefined,
    omittedCalls: call.omittedCalls,
    stateDataOf: () => stateOf(thinking),
  });
}

/** Blocks of the service itself hold no text of the answer. */
function textOfBlock(block: JsonRecord, isAnswer: boolean): string {
  if (isAnswer) return argumentsIn(block['input']) ?? '{}';
  return block['type'] === 'text' || block['type'] === undefined
    ? (textIn(block, 'text') ?? '')
    : '';
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool-calls'],
  ['refusal', 'content-filter'],
  // Gateways that translate chat-completions only in part
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['content_filter', 'content-filter'],
]);

function toFinishReason(raw: string): FinishReason {
  return FINISH_REASONS.get(raw.toLowerCase()) ?? 'other';
}

/** An answer in the arguments of its tool is a finished one, not a call. */
function answerReason(raw: string, isAnswered: boolean): FinishReason {
  return raw === 'tool_use' && isAnswered ? 'stop' : toFinishReason(raw);
}

/** Whether a field of a usage counts nothing: null, zero, or a breakdown of zeros. */
function isNothing(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).every(isNothing);
  return value === null || value === 0;
}

/** This protocol counts cached tokens beside the input; the contract counts them in it. */
function toUsage(raw: JsonRecord): Usage {
  const uncached = countIn(raw, 'input_tokens');
  const cached = countIn(raw, 'cache_read_input_tokens');
  const billed = billedUsage(raw);
  const { cacheWriteTokens: written = 0, cacheWriteHourTokens: writtenHour = 0 } = billed ?? {};
  const outputTokens = countIn(raw, 'output_tokens');
  const inputTokens =
    uncached === undefined ? undefined : uncached + (cached ?? 0) + written + writtenHour;
  const reasoningTokens = thinkingTokens(raw);
  return {
    inputTokens,
    outputTokens,
    totalTokens: totalOf(inputTokens, outputTokens),
    cachedInputTokens: cached,
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(billed && { billed }),
    raw,
  };
}
