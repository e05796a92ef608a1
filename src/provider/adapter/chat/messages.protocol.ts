import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, MESSAGES_FAMILY } from '../address.js';
import type { ModelConnection, Usage } from '../model-call.js';
import type { Vendor } from '../named-adapter.js';
import { protocolError, errorInAnswer, throwIfError } from '../upstream.error.js';
import { wholeNumberIn, recordIn, textIn, textsIn } from '../json-fields.js';
import type { JsonRecord } from '../json-fields.js';
import type { Secrets } from '../safe-text.js';
import { EventStreamDecoder } from '../stream-decoder.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { NO_EFFORT } from './chat.adapter.js';
import type {
  CacheMark,
  ChatCall,
  ChatMessage,
  ContentPart,
  ToolCall,
  ChatCompletion,
  ChatPart,
  FinishReason,
  OmittedCalls,
  ResponseFormat,
} from './chat.adapter.js';
import { withInstruction } from './response-format.js';
import { AnswerStream, completionOf, totalOf } from './stream-mapping.js';

const DEFAULT_PROTOCOL_VERSION = '2023-06-01';

/** The messages protocol: POST {address}/messages with x-api-key and anthropic-version. */
export function messages(own: Vendor['address']): ChatProtocol {
  const form = { ...MESSAGES_FAMILY, ...own, endpoint: '/messages' };
  return {
    name: 'messages',
    endpoint: (address) => endpointOf(address, form),
    headers: headersOf,
    body: toMessagesBody,
    answerStream: (secrets, withThinking, call) =>
      new MessagesStream(secrets, withThinking, answerToolOf(call)?.name, call.omittedCalls),
    toCompletion,
    relayed: {
      body: (body) => body,
      headers: ['anthropic-version', 'anthropic-beta'],
      textPlace: 'block 0 text',
      piecesIn,
      isUsageAlone: () => false,
    },
    countEndpoint: (address) =>
      endpointOf(address, form).replace(/\/messages(?=\?|$)/, '/messages/count_tokens'),
  };
}

/** A block may begin with the first piece of its text. */
function* piecesIn(event: JsonRecord): Generator<[place: string, piece: string]> {
  const field = PIECES.get(event['type']);
  if (field !== undefined) yield* textsIn(event[field], `block ${String(event['index'])}`);
}

/** The field that adds to a block, by the type of the event. */
const PIECES = new Map<unknown, string>([
  ['content_block_start', 'content_block'],
  ['content_block_delta', 'delta'],
]);

function headersOf({ credential, protocolVersion }: ModelConnection): Record<string, string> {
  const key = credential?.trim() ?? '';
  return {
    'anthropic-version': protocolVersion?.trim() || DEFAULT_PROTOCOL_VERSION,
    ...(key !== '' && { 'x-api-key': key }),
  };
}

/** The protocol requires a limit. */
const DEFAULT_MAX_TOKENS = 4096;

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

/** The body of POST /messages. */
export function toMessagesBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  const answerTool = answerToolOf(call);
  const isInText = call.responseFormat && answerTool === undefined;
  const messages = isInText ? withInstruction(call.messages, call.responseFormat) : call.messages;
  const system = messages.filter((message) => message.role === 'system');
  return {
    model: call.model,
    max_tokens: call.maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length > 0 && { system: systemOf(system) }),
    messages: toWireMessages(call.messages),
    stream,
    ...(call.tools?.length && toolFields(call)),
    ...(answerTool && answerFields(answerTool)),
    temperature: call.temperature,
    top_p: call.topP,
    top_k: call.topK,
    ...(call.stop?.length && { stop_sequences: call.stop }),
    ...(call.effort !== undefined &&
      call.effort !== NO_EFFORT && { output_config: { effort: call.effort } }),
  };
}

/** One text, or its blocks where one of them is marked. */
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
      return [...textBlocks(message.content), ...(message.toolCalls ?? []).map(toToolUse)];
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

function toToolUse({ id, name, input }: ToolCall): Record<string, unknown> {
  return { type: 'tool_use', id, name, input };
}

/** The fields read from an answer in one piece, but usage, which may be anything; blocks of other types are passed over. */
const messageSchema = z.looseObject({
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().nullish(),
      thinking: z.string().nullish(),
      id: z.string().nullish(),
      name: z.string().nullish(),
      input: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  stop_reason: z.string().nullish(),
});

/** Of a block that a gateway sends without its position. */
const NO_INDEX = -1;

/** Maps a stream of the messages protocol. */
export class MessagesStream extends AnswerStream {
  /** The input count comes at the start, the output count at the end. */
  private usage: JsonRecord = {};
  /** The block whose arguments are the answer. */
  private answerIndex: number | undefined;

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

  private readDelta(event: JsonRecord, delta: JsonRecord | undefined, parts: ChatPart[]): void {
    if (delta === undefined) return;
    this.state.addText(textIn(delta, 'text'), parts);
    this.state.addThinking(textIn(delta, 'thinking'), parts);
    const json = textIn(delta, 'partial_json');
    if (json === undefined) return;
    const index = wholeNumberIn(event, 'index');
    if (this.answerIndex === (index ?? NO_INDEX)) this.state.addText(json, parts);
    else this.state.addToolCall({ index, arguments: json });
  }

  private readBlock(event: JsonRecord, block: JsonRecord | undefined, parts: ChatPart[]): void {
    if (block === undefined) return;
    if (block['type'] !== 'tool_use') {
      this.state.addText(textIn(block, 'text'), parts);
      this.state.addThinking(textIn(block, 'thinking'), parts);
      return;
    }
    // The input is empty here and comes in pieces; some gateways send it whole instead.
    const input = recordIn(block, 'input') ?? {};
    const whole = Object.keys(input).length > 0 ? JSON.stringify(input) : undefined;
    const index = wholeNumberIn(event, 'index');
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

  private readMessageDelta(event: JsonRecord, parts: ChatPart[]): void {
    this.readUsage(event);
    const reason = textIn(recordIn(event, 'delta') ?? {}, 'stop_reason');
    if (reason === undefined) return;
    this.state.setFinish(answerReason(reason, this.answerIndex !== undefined), reason, parts);
  }

  private readUsage(holder: JsonRecord): void {
    const usage = recordIn(holder, 'usage');
    if (usage === undefined) return;
    this.usage = { ...this.usage, ...usage };
    this.state.setUsage(toUsage(this.usage));
  }
}

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(
  answer: unknown,
  secrets: Secrets,
  withThinking: boolean,
  call: ChatCall,
): ChatCompletion {
  throwIfError(answer, secrets);
  const answerTool = answerToolOf(call)?.name;
  const parsed = messageSchema.safeParse(answer);
  if (!parsed.success)
    throw protocolError(msg`The provider answered without a message.`, parsed.error);
  const { content } = parsed.data;
  const usage = recordIn(parsed.data, 'usage');
  const raw = parsed.data.stop_reason ?? '';
  const isAnswer = (block: (typeof content)[number]): boolean =>
    block.type === 'tool_use' && answerTool !== undefined && block.name === answerTool;
  return completionOf({
    text: content
      .map((block) => (isAnswer(block) ? JSON.stringify(block.input ?? {}) : (block.text ?? '')))
      .join(''),
    reasoning: withThinking ? content.map(({ thinking }) => thinking ?? '').join('') : '',
    toolCalls: content
      .filter((block) => block.type === 'tool_use' && !isAnswer(block))
      .map(({ id, name, input }, index) => ({
        index,
        id: id ?? undefined,
        name: name ?? undefined,
        arguments: JSON.stringify(input ?? {}),
      })),
    reason: answerReason(raw, content.some(isAnswer)),
    raw,
    usage: usage ? toUsage(usage) : undefined,
    omittedCalls: call.omittedCalls,
  });
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool-calls'],
  ['refusal', 'content-filter'],
]);

function toFinishReason(raw: string): FinishReason {
  return FINISH_REASONS.get(raw) ?? 'other';
}

/** An answer in the arguments of its tool is a finished one, not a call. */
function answerReason(raw: string, isAnswered: boolean): FinishReason {
  return raw === 'tool_use' && isAnswered ? 'stop' : toFinishReason(raw);
}

/** This protocol counts cached tokens beside the input; the contract counts them in it. */
function toUsage(raw: JsonRecord): Usage {
  const uncached = wholeNumberIn(raw, 'input_tokens');
  const cached = wholeNumberIn(raw, 'cache_read_input_tokens');
  const written = wholeNumberIn(raw, 'cache_creation_input_tokens');
  const outputTokens = wholeNumberIn(raw, 'output_tokens');
  const inputTokens =
    uncached === undefined ? undefined : uncached + (cached ?? 0) + (written ?? 0);
  return {
    inputTokens,
    outputTokens,
    totalTokens: totalOf(inputTokens, outputTokens),
    cachedInputTokens: cached,
    raw,
  };
}
