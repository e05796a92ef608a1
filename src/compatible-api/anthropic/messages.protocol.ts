import { encodeState, firstState, isEncodedState, newId } from '../answer/encoded-state.js';
import { z } from 'zod';
import type { Failure } from '../../platform/error/index.js';
import { sseFrame } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { quoted, referenceOf } from '../../agent/index.js';
import type { Source, TurnPart } from '../../agent/index.js';
import { generationIn, readToolCall } from '../../provider/index.js';
import type {
  ChatCall,
  ChatMessage,
  ContentPart,
  FinishReason,
  RequestedGeneration,
  ToolCall,
} from '../../provider/index.js';
import {
  agentIdIn,
  effort,
  effortOf,
  modelName,
  MAX_MESSAGES,
  MAX_TOOLS,
  parameters,
  withAssistantMessages,
} from '../answer/parameters.js';
import { citationsOf, CollectedAnswer } from '../answer/collected-answer.js';
import { ParameterError } from '../answer/api.errors.js';
import type {
  AnswerContext,
  AnswerWriter,
  ApiRequest,
  FilePart,
  ParameterNames,
  RelayedRequest,
  TranslatedCall,
  TranslatedMessage,
} from '../answer/api.request.js';
import { fileData, filePartOf, MAX_FILE_NAME_CHARS } from '../answer/request-files.js';
import { MESSAGE_HINTS, withoutHints, withoutNeutral } from '../answer/hints.js';
import type { Hints } from '../answer/hints.js';
import type { IgnoredParameters } from '../answer/answer.js';
import { offeredTools } from '../answer/tool-choice.js';
import type { OfferedTools, ToolChoice } from '../answer/tool-choice.js';
import { anthropicFailure, ThreadError } from './anthropic.errors.js';

// The messages protocol of Anthropic as a service speaks it: requests in, answers out. Does no I/O.

const anyRequest = z.looseObject({
  model: modelName,
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .max(MAX_MESSAGES),
  stream: z.boolean().optional(),
  thread: z.unknown().optional(),
});

/** A request of POST /v1/messages. */
export class MessagesRequest implements ApiRequest {
  readonly names: ParameterNames = {
    message: () => 'messages',
    messages: 'messages',
    format: 'output_config.format',
    formatParts: {
      type: 'output_config.format.type',
      name: 'output_config.format.name',
      schema: 'output_config.format.schema',
    },
    parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
    imageDetail: 'messages',
    strictTool: (index) => `tools[${findClientTools(this.body)[index] ?? index}].strict`,
    effort: 'output_config.effort',
  };
  readonly relay: RelayedRequest;
  readonly body: ApiRequest['body'];

  private constructor(
    readonly model: string,
    readonly stream: boolean,
    /** The unmodified body of the client. */
    private readonly clientBody: ApiRequest['body'],
    headers: RelayedRequest['headers'],
  ) {
    this.relay = { protocol: 'messages', headers };
    this.body = relayedBody(clientBody);
  }

  /** Validates the parameters that Plinth itself needs. Throws ParameterError. */
  static of(body: unknown, headers: RelayedRequest['headers']): MessagesRequest {
    const { model, stream = false, thread } = parameters(anyRequest, body);
    if (thread !== undefined) throw new ThreadError();
    return new MessagesRequest(model, stream, body as ApiRequest['body'], headers);
  }

  translate(ignored: IgnoredParameters): TranslatedCall {
    return translate(this.clientBody, ignored);
  }

  writer(isAgent: boolean): AnswerWriter {
    return new MessageWriter(this.model, isAgent, showsThinking(this.body));
  }

  failureEvent(failure: Failure): string {
    return sseFrame('error', anthropicFailure(failure).body);
  }
}

/** The body for a service of this protocol, without thinking signed by Plinth, which the service would refuse. */
export function relayedBody(body: ApiRequest['body']): ApiRequest['body'] {
  return withAssistantMessages(body, withoutOwnThinking);
}

function withoutOwnThinking(message: Readonly<Record<string, unknown>>): object {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const others = content.filter((block: Readonly<Record<string, unknown>> | null) => {
    if (block?.['type'] === 'thinking') return !isEncodedState(block['signature']);
    return block?.['type'] !== 'redacted_thinking' || !isEncodedState(block['data']);
  });
  return others.length === content.length ? message : { ...message, content: others };
}

/** A hint without effect on the answer. */
const cache = { cache_control: z.looseObject({ type: z.string() }).nullish() };

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  // Fields of answers that clients send back.
  citations: z.array(z.unknown()).nullish(),
  ...cache,
});
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.string().regex(/^image\/[\w.+-]+$/, 'an image type is expected'),
      data: z.string(),
    }),
    z.strictObject({
      type: z.literal('url'),
      url: z.string().regex(/^https?:\/\//i, 'an http address is expected'),
    }),
  ]),
  ...cache,
});
/** Uploaded files exist only at Anthropic's service, and only it fetches URLs. */
const documentBlock = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.string().max(100),
      data: fileData,
    }),
    z.strictObject({
      type: z.literal('text'),
      media_type: z.string().max(100).nullish(),
      data: z.string(),
    }),
    z.strictObject({
      type: z.literal('content'),
      content: z.union([
        z.string(),
        z.array(z.discriminatedUnion('type', [textBlock, imageBlock])).max(MAX_MESSAGES),
      ]),
    }),
  ]),
  title: z.string().max(MAX_FILE_NAME_CHARS).nullish(),
  context: z.string().nullish(),
  // Other protocols have no citations.
  citations: z.looseObject({}).nullish(),
  ...cache,
});
const searchResultBlock = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock).max(MAX_MESSAGES),
  citations: z.looseObject({}).nullish(),
  ...cache,
});
const shownBlocks = [textBlock, imageBlock, documentBlock, searchResultBlock] as const;
type ShownBlock = z.output<(typeof shownBlocks)[number]>;

const resultBlock = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z
    .union([z.string(), z.array(z.discriminatedUnion('type', [...shownBlocks])).max(MAX_MESSAGES)])
    .nullish(),
  is_error: z.boolean().nullish(),
  ...cache,
});
const callBlock = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()),
  caller: z.looseObject({ type: z.string() }).nullish(),
  ...cache,
});
// Thinking is returned to a model only as the state in a signature made by Plinth.
const thinkingBlocks = [
  z.strictObject({
    type: z.literal('thinking'),
    thinking: z.string(),
    signature: z.string().nullish(),
  }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
] as const;

const texts = z.union([z.string(), z.array(textBlock).max(MAX_MESSAGES)]);
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: texts }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([
      z.string(),
      z
        .array(z.discriminatedUnion('type', [...shownBlocks, resultBlock]))
        .min(1)
        .max(MAX_MESSAGES),
    ]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([
      z.string(),
      z
        .array(z.discriminatedUnion('type', [textBlock, callBlock, ...thinkingBlocks]))
        .max(MAX_MESSAGES),
    ]),
  }),
]);

const tool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string().regex(/^[\w-]{1,128}$/, '1 to 128 letters, digits, _ or - are expected'),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  allowed_callers: z.array(z.literal('direct')).nullish(),
  // Hints without effect: every tool is offered with only its schema, and arguments arrive complete.
  defer_loading: z.boolean().nullish(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.unknown()).nullish(),
  ...cache,
});

const oneByOne = { disable_parallel_tool_use: z.boolean().nullish() };
const display = { display: z.enum(['summarized', 'omitted']).nullish() };

const outputFormat = z.strictObject({
  type: z.literal('json_schema'),
  schema: z.record(z.string(), z.unknown()),
});

/** All parameters that can be translated. */
const translatedRequest = z.strictObject({
  model: z.string(),
  max_tokens: z.number().int().min(1).max(1_000_000),
  messages: z.array(message).min(1).max(MAX_MESSAGES),
  system: texts.optional(),
  stream: z.boolean().optional(),
  tools: z.array(tool).max(MAX_TOOLS).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...oneByOne }),
      z.strictObject({ type: z.literal('any'), ...oneByOne }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), ...oneByOne }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion('type', [
      // The protocol calls the budget a target, not a limit; max_tokens is the limit.
      z.looseObject({ type: z.literal('enabled'), ...display }),
      z.looseObject({ type: z.literal('adaptive'), ...display }),
      z.looseObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: effort.nullish(),
      format: outputFormat.nullish(),
      task_budget: z.unknown().optional(),
    })
    .optional(),
  // The name of output_config.format before it was moved there.
  output_format: outputFormat.optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().optional(),
  stop_sequences: z.array(z.string().max(1_000)).max(16).optional(),
});

type TranslatedRequest = z.output<typeof translatedRequest>;

/** Parameters with the value at which they have no effect. */
const WITHOUT_EFFECT: Hints = {
  mcp_servers: (value) => Array.isArray(value) && value.length === 0,
  // Any other value promises where data is processed.
  inference_geo: (value) => value === 'global',
};

/** Type prefixes of the tools that Anthropic's service runs itself. Models of other services answer without them. */
const SERVER_TOOL = /^(web_search|web_fetch|code_execution|tool_search_tool)_/;

function withoutServerTools(
  body: ApiRequest['body'],
  ignored: IgnoredParameters,
): ApiRequest['body'] {
  const tools: unknown = body['tools'];
  if (!Array.isArray(tools)) return body;
  const clientToolPlaces = findClientTools(body);
  for (const at of tools.keys()) if (!clientToolPlaces.includes(at)) ignored.add(`tools[${at}]`);
  return { ...body, tools: clientToolPlaces.map((at): unknown => tools[at]) };
}

/** Indexes in `tools` of the tools that the client runs itself. */
function findClientTools({ tools }: ApiRequest['body']): number[] {
  if (!Array.isArray(tools)) return [];
  return [...tools.keys()].filter(
    (at) => !SERVER_TOOL.test(String((tools[at] as { type?: unknown } | null)?.type)),
  );
}

function translate(body: ApiRequest['body'], ignored: IgnoredParameters): TranslatedCall {
  const neutral = withoutNeutral(withoutServerTools(body, ignored), WITHOUT_EFFECT);
  const checkedBody = withoutHints(neutral, MESSAGE_HINTS, ignored);
  const request = parameters(translatedRequest, checkedBody);
  const { system, stop_sequences: stop } = request;
  const { output_config, output_format, thinking } = request;
  if (output_config?.task_budget) ignored.add('output_config.task_budget');
  const prompt = system === undefined ? '' : joined(system);
  const format = output_config?.format ?? output_format;
  // A model does not think unless the parameter is set; an agent decides itself.
  const isAgent = agentIdIn(request.model) !== undefined;
  const thinks = thinking || !isAgent ? (thinking?.type ?? 'disabled') !== 'disabled' : undefined;
  return {
    messages: [
      ...(prompt === '' ? [] : [{ role: 'system', content: prompt } as const]),
      ...messagesOf(request.messages),
    ],
    ...toolsOf(request),
    ...generationIn({
      temperature: request.temperature,
      topP: request.top_p,
      topK: request.top_k,
      maxTokens: request.max_tokens,
      stop: stop?.length ? stop : undefined,
      seed: undefined,
      frequencyPenalty: undefined,
      presencePenalty: undefined,
    } satisfies RequestedGeneration),
    ...(thinks !== undefined && { thinking: thinks }),
    ...effortOf(output_config?.effort),
    format: format ? { type: 'json_schema', schema: format.schema } : undefined,
  };
}

function showsThinking({ thinking }: ApiRequest['body']): boolean {
  const { type, display } = (thinking ?? {}) as Record<string, unknown>;
  return (type === 'enabled' || type === 'adaptive') && display !== 'omitted';
}

function messagesOf(requestMessages: TranslatedRequest['messages']): TranslatedMessage[] {
  if (requestMessages.at(-1)?.role === 'assistant') {
    // Another protocol begins a new answer instead of continuing this one.
    throw new ParameterError('messages', msg`The last message must be one of the user.`);
  }
  const names = new Map<string, string>();
  return requestMessages.flatMap((one, at): TranslatedMessage[] => {
    switch (one.role) {
      case 'system':
        return [{ role: 'system', content: joined(one.content) }];
      case 'user':
        return userMessages(one.content, names, `messages[${at}]`);
      case 'assistant':
        return [assistantMessage(one.content, names)];
    }
  });
}

function joined(content: z.output<typeof texts>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n\n');
}

type Content<Role> = Extract<z.output<typeof message>, { role: Role }>['content'];

/** Tool results become separate messages that hold only text; their images and files follow in the user message. */
function userMessages(
  content: Content<'user'>,
  names: ReadonlyMap<string, string>,
  place: string,
): TranslatedMessage[] {
  if (typeof content === 'string') return [{ role: 'user', content }];
  const results: ChatMessage[] = [];
  const parts: (ContentPart | FilePart)[] = [];
  for (const [at, block] of content.entries()) {
    const param = `${place}.content[${at}]`;
    if (block.type !== 'tool_result') {
      parts.push(...partsOf(block, param));
      continue;
    }
    const { tool_use_id: toolCallId, content: result } = block;
    const name = names.get(toolCallId);
    if (name === undefined) {
      throw new ParameterError(
        `${param}.tool_use_id`,
        msg`No message before has a tool call with the id ${toolCallId}. Send the message that called the tool as well.`,
      );
    }
    const blocks = typeof result === 'string' ? [{ type: 'text', text: result } as const] : result;
    const resultParts = (blocks ?? []).flatMap((one, index) =>
      partsOf(one, `${param}.content[${index}]`),
    );
    const text = resultParts
      .filter((part) => part.type === 'text')
      .map((part) => part.text)
      .join('\n');
    const resultText = block.is_error ? `Error: ${text}` : text;
    results.push({ role: 'tool', toolCallId, name, content: resultText });
    parts.push(...resultParts.filter(({ type }) => type !== 'text'));
  }
  if (parts.length === 0) return results;
  return [...results, { role: 'user', content: withoutParts(parts) }];
}

/** Every service accepts a single text, but not every one accepts a list of parts. */
function withoutParts(
  parts: readonly (ContentPart | FilePart)[],
): string | readonly (ContentPart | FilePart)[] {
  const textParts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return textParts.length === parts.length ? textParts.join('\n\n') : parts;
}

function partsOf(block: ShownBlock, param: string): (ContentPart | FilePart)[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text }];
    case 'image': {
      const { source } = block;
      return source.type === 'url'
        ? [{ type: 'image-url', url: source.url }]
        : [{ type: 'image', mimeType: source.media_type, data: source.data }];
    }
    case 'search_result': {
      const { title, source, content } = block;
      return [{ type: 'text', text: quoted('fragment', { title, source }, joined(content)) }];
    }
    case 'document': {
      const { context } = block;
      const about: ContentPart[] = context ? [{ type: 'text', text: context }] : [];
      return [...about, ...documentParts(block, `${param}.source`)];
    }
  }
}

function documentParts(
  { source, title }: Extract<ShownBlock, { type: 'document' }>,
  param: string,
): (ContentPart | FilePart)[] {
  switch (source.type) {
    case 'base64':
      return [filePartOf(source.data, title, `${param}.data`, source.media_type)];
    case 'text':
      return [quotedText(title, source.data)];
    case 'content': {
      const { content } = source;
      if (typeof content === 'string') return [quotedText(title, content)];
      const texts = content.filter((one) => one.type === 'text');
      const images = content.filter((one) => one.type === 'image');
      return [
        ...(texts.length > 0 ? [quotedText(title, joined(texts))] : []),
        ...images.flatMap((one) => partsOf(one, param)),
      ];
    }
  }
}

function quotedText(title: string | null | undefined, text: string): ContentPart {
  return { type: 'text', text: quoted('file', { name: title || 'document' }, text) };
}

function assistantMessage(content: Content<'assistant'>, names: Map<string, string>): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  let text = '';
  const toolCalls: ToolCall[] = [];
  const providerState = firstState(
    content.map((block) => {
      if (block.type === 'thinking') return block.signature;
      return block.type === 'redacted_thinking' ? block.data : undefined;
    }),
  );
  for (const block of content) {
    if (block.type === 'text') text += block.text;
    if (block.type !== 'tool_use') continue;
    const { id, name, input } = block;
    names.set(id, name);
    const invalid = invalidJsonIn(input);
    toolCalls.push(readToolCall({ id, name, arguments: invalid ?? JSON.stringify(input) }));
  }
  return {
    role: 'assistant',
    content: text,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(providerState && { providerState }),
  };
}

/**
 * The field of `input` that holds arguments that are not a JSON object. The API reference of the protocol names it for clients that
 * report such arguments (platform.claude.com, Fine-grained tool streaming, 2026-11).
 */
const INVALID_JSON = 'INVALID_JSON';

function invalidJsonIn(input: Readonly<Record<string, unknown>>): string | undefined {
  const { [INVALID_JSON]: text, ...others } = input;
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : undefined;
}

function toolsOf({
  tools = [],
  tool_choice: choice,
}: TranslatedRequest): OfferedTools & Pick<ChatCall, 'parallelToolCalls'> {
  const offered = tools.map(({ name, description, input_schema: inputSchema, strict }) => ({
    name,
    description: description ?? '',
    inputSchema,
    ...(strict === true && { strict }),
  }));
  if (!choice) return offeredTools(offered, undefined);
  const isOneByOne = choice.type !== 'none' && choice.disable_parallel_tool_use === true;
  return {
    ...offeredTools(offered, choiceOf(choice)),
    ...(isOneByOne && { parallelToolCalls: false }),
  };
}

function choiceOf(choice: NonNullable<TranslatedRequest['tool_choice']>): ToolChoice {
  switch (choice.type) {
    case 'any':
      return 'required';
    case 'tool':
      return { mode: 'required', names: [['tool_choice.name', choice.name]] };
    default:
      return choice.type;
  }
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  error: 'end_turn',
  other: 'end_turn',
};

type Block =
  | { type: 'text'; text: string; citations?: object[] }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; input: object; caller: { type: 'direct' } };

/** Writes one answer in the protocol, as events or as one body. */
class MessageWriter implements AnswerWriter {
  private readonly base: object;
  private readonly answer: CollectedAnswer;
  private readonly content: Block[] = [];
  /** The last block can be continued. */
  private isOpen = false;
  private hasBegun = false;

  constructor(
    model: string,
    isAgent: boolean,
    private readonly withThinking: boolean,
  ) {
    const id = newId('msg');
    this.base = { id, type: 'message', role: 'assistant', model };
    this.answer = new CollectedAnswer(isAgent);
  }

  add(parts: readonly TurnPart[]): string {
    return parts.map((part) => this.addPart(part)).join('');
  }

  end(context: AnswerContext): string {
    const { sources } = context;
    this.answer.checkWhole();
    const begin = this.begin() + this.callTools();
    const citations = this.cite(sources).map((citation) =>
      this.delta({ type: 'citations_delta', citation }),
    );
    return [
      ...[begin, ...citations, this.close()],
      event({
        type: 'message_delta',
        delta: this.ending(),
        usage: this.usage(context),
        ...(sources && { sources: sources.map(referenceOf) }),
      }),
      event({ type: 'message_stop' }),
    ].join('');
  }

  whole(context: AnswerContext): object {
    const { sources } = context;
    this.answer.checkWhole();
    this.callTools();
    this.cite(sources);
    return {
      ...this.base,
      content: this.content,
      ...this.ending(),
      usage: this.usage(context),
      ...(sources && { sources: sources.map(referenceOf) }),
    };
  }

  private addPart(part: TurnPart): string {
    const visiblePart = this.answer.add(part);
    switch (visiblePart?.type) {
      case undefined:
        return '';
      case 'text-delta': {
        const { text } = visiblePart;
        const opened = this.open({ type: 'text', text: '' });
        const block = this.content.at(-1);
        if (block?.type === 'text') block.text += text;
        return opened + this.delta({ type: 'text_delta', text });
      }
      case 'reasoning-delta': {
        if (!this.withThinking) return '';
        const { text: thinking } = visiblePart;
        const opened = this.open({ type: 'thinking', thinking: '', signature: '' });
        const block = this.content.at(-1);
        if (block?.type === 'thinking') block.thinking += thinking;
        return opened + this.delta({ type: 'thinking_delta', thinking });
      }
      case 'tool-call':
        // Written at the end, after its state.
        return '';
    }
  }

  /** The blocks of the tool calls, which end an answer. The provider state precedes them. */
  private callTools(): string {
    const { calls, providerState } = this.answer;
    if (calls.length === 0) return '';
    const state = providerState ? this.sign(encodeState(providerState)) : '';
    return state + calls.map((call) => this.callTool(call)).join('');
  }

  private callTool({ id, name, input: parsedInput, arguments: text, invalid }: ToolCall): string {
    const call = { type: 'tool_use', id, name, caller: { type: 'direct' } } as const;
    const opened = this.open({ ...call, input: {} });
    const input = invalid ? { [INVALID_JSON]: text } : parsedInput;
    this.content[this.content.length - 1] = { ...call, input };
    const json = invalid ? JSON.stringify(input) : text;
    return opened + this.delta({ type: 'input_json_delta', partial_json: json }) + this.close();
  }

  /** Puts the provider state into the signature of the preceding thinking, otherwise into its own block. */
  private sign(state: string): string {
    const block = this.content.at(-1);
    if (this.isOpen && block?.type === 'thinking') {
      block.signature = state;
      return this.delta({ type: 'signature_delta', signature: state });
    }
    return this.open({ type: 'redacted_thinking', data: state }) + this.close();
  }

  /** The events before the first block. */
  private begin(): string {
    if (this.hasBegun) return '';
    this.hasBegun = true;
    const message = {
      ...this.base,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // Final counts are only known at the end; message_delta has those of the whole message.
      usage: { ...NOT_COUNTED, input_tokens: 0, output_tokens: 0 },
    };
    return event({ type: 'message_start', message }) + event({ type: 'ping' });
  }

  /** Continues an open block of the type, or starts a new one from `empty`. */
  private open(empty: Block): string {
    if (this.isOpen && this.content.at(-1)?.type === empty.type) return '';
    const before = this.begin() + this.close();
    const index = this.content.push(empty) - 1;
    this.isOpen = true;
    // Serialized now, because it grows later.
    return before + event({ type: 'content_block_start', index, content_block: empty });
  }

  private delta(delta: object): string {
    return event({ type: 'content_block_delta', index: this.content.length - 1, delta });
  }

  private close(): string {
    if (!this.isOpen) return '';
    this.isOpen = false;
    return event({ type: 'content_block_stop', index: this.content.length - 1 });
  }

  /** The sources that the last text cites, each once; they become part of it. */
  private cite(sources: readonly Source[] = []): object[] {
    const last = this.content.at(-1);
    if (last?.type !== 'text') return [];
    const cited = new Map(citationsOf(last.text, sources).map((one) => [one.source, one]));
    if (cited.size === 0) return [];
    const citations = [...cited.values()].map(({ source, title, url }) => ({
      type: 'search_result_location',
      // The text of the fragment stays in the knowledge base.
      cited_text: '',
      source: url,
      title,
      search_result_index: source - 1,
      start_block_index: 0,
      end_block_index: 0,
    }));
    last.citations = citations;
    return citations;
  }

  private ending(): object {
    const stop_reason = STOP_REASONS[this.answer.finish];
    return { stop_reason, stop_sequence: null };
  }

  private usage(context: AnswerContext): object {
    const used = this.answer.usageOf(context);
    const cached = Math.min(used.cachedInputTokens ?? 0, used.inputTokens);
    return {
      ...NOT_COUNTED,
      // This protocol does not include cached tokens in the input.
      input_tokens: used.inputTokens - cached,
      cache_read_input_tokens: cached,
      output_tokens: used.outputTokens,
    };
  }
}

const NOT_COUNTED = {
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

function event(data: { readonly type: string; readonly [field: string]: unknown }): string {
  return sseFrame(data.type, data);
}
