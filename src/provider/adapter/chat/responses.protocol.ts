import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { endpointOf, FAMILY } from '../address.js';
import {
  isRecord,
  recordIn,
  recordsIn,
  textIn,
  wholeNumberIn,
  errorInAnswer,
} from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import { bearerOf, billedUsage, EventStreamDecoder } from '../model-call.js';
import type { BilledUsage, Usage } from '../model-call.js';
import type { Vendor } from '../named-adapter.js';
import type { Secrets } from '../safe-text.js';
import { protocolError } from '../upstream.error.js';
import { namedGeneration, NO_EFFORT } from './chat.adapter.js';
import type {
  ChatCall,
  ChatCompletion,
  ChatMessage,
  ChatPart,
  ContentPart,
  FinishReason,
  GenerationNames,
  OmittedCalls,
  ProviderState,
  ToolCall,
} from './chat.adapter.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { isStrictSchema } from './response-format.js';
import { AnswerStream, completionOf, totalOf } from './stream-mapping.js';
import type { ToolCallPiece } from './answer-text.js';

/**
 * The Responses protocol: POST {address}/responses with a bearer key. Nothing is stored at the service: what a model thought
 * comes encrypted and goes back with the conversation (API reference of OpenAI, Responses, 2026-11).
 */
export function responses(form: Vendor['address']): ChatProtocol {
  return {
    name: 'responses',
    endpoint: (address) => endpointOf(address, { ...FAMILY, ...form, endpoint: '/responses' }),
    countEndpoint: (address) =>
      endpointOf(address, { ...FAMILY, ...form, endpoint: '/responses' }).replace(
        /\/responses(?=\?|$)/,
        '/responses/input_tokens',
      ),
    headers: ({ credential }) => bearerOf(credential),
    body: toResponsesBody,
    relayed: {
      body: (body) => body,
      headers: [],
      isUsageAlone: () => false,
    },
    answerStream: (secrets, withThinking, { omittedCalls }) =>
      new ResponsesStream(secrets, withThinking, omittedCalls),
    toCompletion,
  };
}

/** The API refuses a lower limit. */
const MIN_OUTPUT_TOKENS = 16;

const GENERATION_NAMES: GenerationNames = {
  temperature: 'temperature',
  topP: 'top_p',
  // The body has it with its lower limit.
  maxTokens: null,
  // The adapter ends the text at stop sequences.
  stop: null,
  seed: null,
  topK: null,
  frequencyPenalty: null,
  presencePenalty: null,
  effort: null,
  thinking: null,
  responseFormat: null,
};

/** The body of POST /responses. */
export function toResponsesBody(call: ChatCall, stream: boolean): Record<string, unknown> {
  const first = call.messages.findIndex(({ role }) => role !== 'system');
  const leading = first < 0 ? call.messages : call.messages.slice(0, first);
  const instructions = leading
    .flatMap((message) => (message.role === 'system' ? [message.content] : []))
    .join('\n\n');
  const { responseFormat: format, maxTokens } = call;
  return {
    model: call.model,
    ...(instructions !== '' && { instructions }),
    input: call.messages.slice(leading.length).flatMap(toItems),
    stream,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(call.tools?.length && toolFields(call)),
    ...namedGeneration(call, GENERATION_NAMES),
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(maxTokens, MIN_OUTPUT_TOKENS) }),
    ...(call.effort !== undefined && { reasoning: reasoningFields(call.effort, call.thinking) }),
    ...(format && {
      text: {
        format: {
          type: 'json_schema',
          name: format.name,
          schema: format.schema,
          strict: isStrictSchema(format.schema),
        },
      },
    }),
  };
}

/** The service shows no thinking without `summary`. */
function reasoningFields(effort: string, thinking: boolean | undefined): Record<string, unknown> {
  const isShown = effort !== NO_EFFORT && thinking !== false;
  return { effort, ...(isShown && { summary: 'auto' }) };
}

function toolFields(call: ChatCall): Record<string, unknown> {
  return {
    tools: call.tools?.map(({ name, description, inputSchema, strict }) => ({
      type: 'function',
      name,
      description,
      parameters: inputSchema,
      // The default is true, and most schemas would be refused.
      strict: strict === true,
    })),
    tool_choice: call.toolChoice,
    ...(call.parallelToolCalls === false && { parallel_tool_calls: false }),
  };
}

function toItems(message: ChatMessage): Record<string, unknown>[] {
  switch (message.role) {
    case 'system':
      return [{ type: 'message', role: 'system', content: message.content }];
    case 'user':
      return [{ type: 'message', role: 'user', content: toWireContent(message.content) }];
    case 'assistant':
      return toAnswerItems(message);
    case 'tool':
      return [
        { type: 'function_call_output', call_id: message.toolCallId, output: message.content },
      ];
  }
}

function toWireContent(content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'input_text', text: part.text };
      case 'image':
        return imageAt(`data:${part.mimeType};base64,${part.data}`, part.detail);
      case 'image-url':
        return imageAt(part.url, part.detail);
    }
  });
}

function imageAt(url: string, detail = 'auto'): Record<string, unknown> {
  return { type: 'input_image', image_url: url, detail };
}

/** The items of an answer in the order in which the model wrote them, which its service expects to see again. */
function toAnswerItems(
  message: Extract<ChatMessage, { role: 'assistant' }>,
): Record<string, unknown>[] {
  const { content, toolCalls = [], providerState } = message;
  const state = stateSchema.safeParse(providerState?.data).data;
  const calls = [...toolCalls];
  const texts = textsOf(content, state?.items ?? []);
  const items: Record<string, unknown>[] = [];
  for (const one of state?.items ?? []) {
    if (one.type === 'reasoning') items.push({ ...one, summary: [] });
    if (one.type === 'message') items.push(...toMessageItem(texts.shift() ?? '', one.phase));
    if (one.type === 'function_call') items.push(...calls.splice(0, 1).map(toCallItem));
  }
  return [...items, ...texts.flatMap((text) => toMessageItem(text)), ...calls.map(toCallItem)];
}

/** The text of an answer, cut into that of its messages where it is still what they said. */
function textsOf(content: string, items: readonly StateItem[]): string[] {
  const lengths = items.flatMap((one) => (one.type === 'message' ? [one.length] : []));
  if (lengths.reduce((sum, length) => sum + length, 0) !== content.length) return [content];
  let start = 0;
  return lengths.map((length) => content.slice(start, (start += length)));
}

function toMessageItem(text: string, phase?: string | null): Record<string, unknown>[] {
  if (text === '') return [];
  return [
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text }],
      ...(phase && { phase }),
    },
  ];
}

function toCallItem({ id, name, arguments: text }: ToolCall): Record<string, unknown> {
  return { type: 'function_call', call_id: id, name, arguments: text };
}

/** The stored state of an answer: encrypted reasoning without its summary, and the position of messages and calls between. */
const stateSchema = z.object({
  items: z.array(
    z.discriminatedUnion('type', [
      z.object({
        type: z.literal('reasoning'),
        id: z.string().optional(),
        encrypted_content: z.string(),
      }),
      z.object({
        type: z.literal('message'),
        /** Characters of its text. */
        length: z.number().int().min(0),
        phase: z.string().nullish(),
      }),
      z.object({ type: z.literal('function_call') }),
    ]),
  ),
});

type StateItem = z.output<typeof stateSchema>['items'][number];

/** The state of an answer; undefined where its order adds nothing to its text and calls. */
function stateOf(output: readonly JsonRecord[]): ProviderState | undefined {
  const items = output.flatMap((item): StateItem[] => {
    switch (item['type']) {
      case 'reasoning': {
        const encrypted = textIn(item, 'encrypted_content');
        const id = textIn(item, 'id');
        if (encrypted === undefined) return [];
        return [{ type: 'reasoning', ...(id && { id }), encrypted_content: encrypted }];
      }
      case 'message': {
        const phase = textIn(item, 'phase');
        return [
          {
            type: 'message',
            length: textOfItem(item).length,
            ...(phase !== undefined && { phase }),
          },
        ];
      }
      case 'function_call':
      case 'custom_tool_call':
        return [{ type: 'function_call' }];
      default:
        return [];
    }
  });
  const isNeeded = items.some(
    (one) => one.type === 'reasoning' || (one.type === 'message' && one.phase),
  );
  // The adapter says whose it is.
  return isNeeded ? { origin: '', data: { items } } : undefined;
}

/** The words of a message, a refusal among them. */
function textOfItem(item: JsonRecord): string {
  return recordsIn(item, 'content')
    .map((part) => textIn(part, 'text') ?? textIn(part, 'refusal') ?? '')
    .join('');
}

function thoughtIn(item: JsonRecord): string {
  const textOf = (part: JsonRecord): string => textIn(part, 'text') ?? '';
  const whole = recordsIn(item, 'content').map(textOf).join('');
  return whole === '' ? recordsIn(item, 'summary').map(textOf).join(BETWEEN_SUMMARIES) : whole;
}

const BETWEEN_SUMMARIES = '\n\n';

/** A call of a function, or of a tool whose input is one text, in which case that is its only argument. */
function callIn(item: JsonRecord, index: number): ToolCallPiece | undefined {
  const name = textIn(item, 'name');
  const id = textIn(item, 'call_id') ?? textIn(item, 'id');
  switch (item['type']) {
    case 'function_call': {
      const value = item['arguments'];
      const text = isRecord(value) ? JSON.stringify(value) : textIn(item, 'arguments');
      return { index, id, name, arguments: text };
    }
    case 'custom_tool_call':
      return { index, id, name, arguments: JSON.stringify({ input: textIn(item, 'input') ?? '' }) };
    default:
      return undefined;
  }
}

/** An item of a streamed answer, as far as it has come. */
interface OpenItem {
  item: JsonRecord;
  /** Pieces of the arguments or the input of a call. */
  readonly pieces: string[];
  /** Part of its text was handed over. */
  hasText: boolean;
  hasThinking: boolean;
  /** The part of its summary that is being written. */
  summary: number;
}

/** Maps a stream of the Responses protocol. */
export class ResponsesStream extends AnswerStream {
  private readonly items = new Map<number, OpenItem>();

  constructor(secrets: Secrets, withThinking: boolean, omittedCalls?: OmittedCalls) {
    super(new EventStreamDecoder(), secrets, withThinking, omittedCalls);
  }

  protected readEvent(event: JsonRecord, _: string, parts: ChatPart[]): boolean {
    const type = textIn(event, 'type') ?? '';
    const delta = textIn(event, 'delta');
    switch (type) {
      case 'response.output_text.delta':
        this.itemOf(event).hasText = true;
        this.state.addText(delta, parts);
        return false;
      case 'response.refusal.delta':
        this.itemOf(event).hasText = true;
        this.state.addRefusal(delta, parts);
        return false;
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        this.addThinking(event, delta, parts);
        return false;
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        if (delta !== undefined) this.itemOf(event).pieces.push(delta);
        return false;
      case 'response.function_call_arguments.done':
        this.replacePieces(event, 'arguments');
        return false;
      case 'response.custom_tool_call_input.done':
        this.replacePieces(event, 'input');
        return false;
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.readItem(this.itemOf(event), recordIn(event, 'item'), type.endsWith('done'), parts);
        return false;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        this.finish(recordIn(event, 'response') ?? {}, type.slice('response.'.length), parts);
        return true;
      case 'error':
        throw errorInAnswer(event['error'] ?? event, this.secrets);
      default:
        // Events of progress, whole texts after their pieces, and what later versions add; or an error without a type.
        if (isRecord(event['error'])) throw errorInAnswer(event['error'], this.secrets);
        return false;
    }
  }

  private itemOf(event: JsonRecord): OpenItem {
    const index = wholeNumberIn(event, 'output_index') ?? 0;
    const existing = this.items.get(index);
    if (existing) return existing;
    const item = { item: {}, pieces: [], hasText: false, hasThinking: false, summary: 0 };
    this.items.set(index, item);
    return item;
  }

  private addThinking(event: JsonRecord, delta: string | undefined, parts: ChatPart[]): void {
    const item = this.itemOf(event);
    const summary = wholeNumberIn(event, 'summary_index') ?? 0;
    const isNext = summary !== item.summary && item.hasThinking;
    item.summary = summary;
    item.hasThinking = true;
    this.state.addThinking(`${isNext ? BETWEEN_SUMMARIES : ''}${delta ?? ''}`, parts);
  }

  private replacePieces(event: JsonRecord, field: string): void {
    const whole = textIn(event, field);
    if (whole === undefined) return;
    const { pieces } = this.itemOf(event);
    pieces.splice(0, pieces.length, whole);
  }

  /** A service that sends no pieces has the text only in the item. */
  private readItem(
    open: OpenItem,
    completedItem: JsonRecord | undefined,
    isDone: boolean,
    parts: ChatPart[],
  ): void {
    if (completedItem === undefined) return;
    open.item = { ...open.item, ...completedItem };
    if (!isDone) return;
    if (!open.hasText && completedItem['type'] === 'message') {
      open.hasText = true;
      for (const part of recordsIn(completedItem, 'content')) {
        this.state.addText(textIn(part, 'text'), parts);
        this.state.addRefusal(textIn(part, 'refusal'), parts);
      }
    }
    if (!open.hasThinking && completedItem['type'] === 'reasoning') {
      open.hasThinking = true;
      this.state.addThinking(thoughtIn(completedItem), parts);
    }
  }

  private finish(response: JsonRecord, event: string, parts: ChatPart[]): void {
    const usage = recordIn(response, 'usage');
    throwIfFailed(response, this.secrets, event);
    // A service may leave out the events of items, or of some.
    for (const [index, item] of recordsIn(response, 'output').entries()) {
      if (this.items.get(index)?.item['status'] === 'completed') continue;
      this.readItem(this.itemOf({ output_index: index }), item, true, parts);
    }
    const output = [...this.items].sort(([one], [other]) => one - other);
    if (usage) {
      const items = output.map(([, { item }]) => item);
      this.state.setUsage(toUsage(usage, response, items));
    }
    for (const [index, { item, pieces }] of output) {
      const call = callIn(wholeCall(item, pieces), index);
      if (call) this.state.addToolCall(call);
    }
    const [reason, raw] = endOf(response, event);
    this.state.setFinish(reason, raw, parts);
    const providerState = stateOf(output.map(([, { item }]) => item));
    if (providerState) parts.push({ type: 'provider-state', providerState });
  }
}

/** The item of a call with the pieces of its text, where the item itself came without it. */
function wholeCall(item: JsonRecord, pieces: readonly string[]): JsonRecord {
  const field = item['type'] === 'custom_tool_call' ? 'input' : 'arguments';
  const isWhole = isRecord(item[field]) || !!textIn(item, field);
  return isWhole ? item : { ...item, [field]: pieces.join('') };
}

/** The fields read from an answer in one piece, except usage, which may be anything; items of other types are skipped. */
const responseSchema = z.looseObject({
  output: z.array(z.looseObject({ type: z.string() })),
  status: z.string().nullish(),
});

/** Maps an answer in one piece. Throws UpstreamError. */
function toCompletion(
  answer: unknown,
  secrets: Secrets,
  { omittedCalls }: ChatCall,
): ChatCompletion {
  if (isRecord(answer)) throwIfFailed(answer, secrets, textIn(answer, 'status'));
  const parsed = responseSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError(msg`The provider answered without output.`, parsed.error);
  }
  const { output } = parsed.data;
  const messages = output.filter(({ type }) => type === 'message');
  const contents = messages.flatMap((item) => recordsIn(item, 'content'));
  const usage = recordIn(parsed.data, 'usage');
  const [reason, raw] = endOf(parsed.data, parsed.data.status ?? 'completed');
  const providerState = stateOf(output);
  const completion = completionOf({
    text: contents.map((part) => textIn(part, 'text') ?? '').join(''),
    refusal: contents.map((part) => textIn(part, 'refusal') ?? '').join(''),
    reasoning: output
      .filter(({ type }) => type === 'reasoning')
      .map(thoughtIn)
      .join(''),
    toolCalls: output.flatMap((item, index) => callIn(item, index) ?? []),
    reason,
    raw: output.length === 0 ? '' : raw,
    usage: usage && toUsage(usage, parsed.data, output),
    omittedCalls,
  });
  return { ...completion, ...(providerState && { providerState }) };
}

/** Throws the error of a response, or of an invalid answer. */
function throwIfFailed(answer: JsonRecord, secrets: Secrets, status: string | undefined): void {
  const { error } = answer;
  if (error !== undefined && error !== null) throw errorInAnswer(error, secrets);
  if (status === 'failed') throw errorInAnswer({ message: 'failed' }, secrets);
}

/** The reason of the end with the service's own word for it. */
function endOf(response: JsonRecord, status: string): [reason: FinishReason, raw: string] {
  const details = recordIn(response, 'incomplete_details');
  const why = details && textIn(details, 'reason');
  if (status === 'completed') return ['stop', status];
  if (status !== 'incomplete') return [status === 'cancelled' ? 'error' : 'other', status];
  return [INCOMPLETE_REASONS.get(why ?? '') ?? 'other', why ?? status];
}

const INCOMPLETE_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['max_tokens', 'length'],
  ['content_filter', 'content-filter'],
]);

/** OpenAI charges searches, but not the pages that are opened then, and containers of code. */
function toolCallsIn(items: readonly JsonRecord[]): Pick<BilledUsage, 'webSearches' | 'codeRuns'> {
  const searches = items.filter(
    (item) =>
      item['type'] === 'web_search_call' &&
      (recordIn(item, 'action')?.['type'] ?? 'search') === 'search',
  );
  const runs = items.filter(({ type }) => type === 'code_interpreter_call');
  const containers = new Set(runs.map((item) => textIn(item, 'container_id') ?? item));
  return { webSearches: searches.length, codeRuns: containers.size };
}

function toUsage(raw: JsonRecord, response: JsonRecord, items: readonly JsonRecord[]): Usage {
  const inputTokens = wholeNumberIn(raw, 'input_tokens');
  const outputTokens = wholeNumberIn(raw, 'output_tokens');
  return {
    inputTokens,
    outputTokens,
    totalTokens: wholeNumberIn(raw, 'total_tokens') ?? totalOf(inputTokens, outputTokens),
    cachedInputTokens: wholeNumberIn(recordIn(raw, 'input_tokens_details'), 'cached_tokens'),
    reasoningTokens: wholeNumberIn(recordIn(raw, 'output_tokens_details'), 'reasoning_tokens'),
    billed: billedUsage(raw, response, toolCallsIn(items)),
    raw,
  };
}
