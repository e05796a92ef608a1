import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Failure } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { referenceOf } from '../../agent/index.js';
import type { Source, TurnPart } from '../../agent/index.js';
import { generationIn, readToolCall } from '../../provider/index.js';
import type {
  CacheMark,
  ContentPart,
  FinishReason,
  RequestedGeneration,
  ToolCall,
} from '../../provider/index.js';
import { citationsOf, CollectedAnswer } from '../answer/collected-answer.js';
import { ParameterError, UnsupportedParameterError } from '../answer/api.errors.js';
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
import {
  effort,
  effortOf,
  modelName,
  MAX_MESSAGES,
  MAX_TOOLS,
  parameters,
  withAssistantMessages,
} from '../answer/parameters.js';
import { encodeState, firstState, isEncodedState } from '../answer/encoded-state.js';
import { fileData, filePartOf, MAX_FILE_NAME_CHARS } from '../answer/request-files.js';
import { COMPLETION_HINTS, withoutHints, withoutNeutral } from '../answer/hints.js';
import type { Hints } from '../answer/hints.js';
import type { IgnoredParameters } from '../answer/answer.js';
import { offeredTools } from '../answer/tool-choice.js';
import type { NamedTools } from '../answer/tool-choice.js';
import { cacheFields, cacheOf, functionFields, isLegacy, toolOf, withTools } from './functions.js';
import { DONE_EVENT, dataEvent, openAiFailureEvent } from './openai.errors.js';

// The chat-completions protocol of OpenAI as a service speaks it: requests in, answers out. Does no I/O.

const anyRequest = z.looseObject({
  model: modelName,
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .max(MAX_MESSAGES),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).optional(),
  n: z.number().optional(),
});

/** A request of POST /v1/chat/completions. */
export class CompletionRequest implements ApiRequest {
  readonly names: ParameterNames = {
    message: (index) => `messages[${index}]`,
    messages: 'messages',
    format: 'response_format',
    formatParts: {
      type: 'response_format.type',
      name: 'response_format.json_schema.name',
      schema: 'response_format.json_schema.schema',
    },
    parallelToolCalls: 'parallel_tool_calls',
    imageDetail: 'detail',
    strictTool: (index) => `tools[${index}].function.strict`,
    effort: 'reasoning_effort',
  };

  readonly body: ApiRequest['body'];

  private constructor(
    readonly model: string,
    readonly stream: boolean,
    /** The client wants a chunk with the usage. */
    readonly withUsage: boolean,
    /** The unmodified body of the client. */
    private readonly clientBody: ApiRequest['body'],
  ) {
    this.body = withAssistantMessages(clientBody, withoutOwnReasoning);
  }

  /** Validates the parameters that Plinth itself needs. Throws ParameterError. */
  static of(body: unknown): CompletionRequest {
    const { model, stream = false, stream_options, n = 1 } = parameters(anyRequest, body);
    if (n !== 1) throw new UnsupportedParameterError('n');
    const withUsage = stream_options?.include_usage === true;
    return new CompletionRequest(model, stream, withUsage, body as ApiRequest['body']);
  }

  /** The client uses the deprecated functions: calls are written as function_call, one at a time. */
  get isLegacy(): boolean {
    return isLegacy(this.clientBody);
  }

  get relay(): RelayedRequest {
    return { protocol: 'chat-completions', withUsage: this.withUsage };
  }

  translate(ignored: IgnoredParameters): TranslatedCall {
    return translate(this.clientBody, ignored);
  }

  writer(isAgent: boolean): CompletionWriter {
    return new CompletionWriter(this, isAgent);
  }

  failureEvent(failure: Failure): string {
    return openAiFailureEvent(failure);
  }
}

/** Removed, because services refuse reasoning that they have not encrypted, and most refuse the field. */
function withoutOwnReasoning(message: Readonly<Record<string, unknown>>): object {
  const { reasoning_details: details, ...others } = message;
  if (!Array.isArray(details)) return message;
  const foreign = details.filter(
    (one: Readonly<Record<string, unknown>> | null) => !isEncodedState(one?.['data']),
  );
  if (foreign.length === details.length) return message;
  return foreign.length === 0 ? others : { ...others, reasoning_details: foreign };
}

/** Parameters with the value at which they have no effect. */
const WITHOUT_EFFECT: Hints = {
  n: (value) => value === 1,
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
};

/** Maximum length at OpenAI's service. */
const MAX_SPEAKER_CHARS = 64;

const textPart = z.strictObject({ type: z.literal('text'), text: z.string(), ...cacheFields });
const imagePart = z.strictObject({
  type: z.literal('image_url'),
  ...cacheFields,
  // Mistral and several clients send the bare URL.
  image_url: z.preprocess(
    (image) => (typeof image === 'string' ? { url: image } : image),
    z.strictObject({
      url: z
        .string()
        .regex(
          /^(https?:\/\/|data:image\/[\w.+-]+;base64,)/i,
          'an http or data address is expected',
        ),
      detail: z.enum(['auto', 'low', 'high']).nullish(),
    }),
  ),
});
/** Uploaded files exist only at OpenAI's service. */
const filePart = z.strictObject({
  type: z.literal('file'),
  file: z.strictObject({
    file_data: fileData,
    filename: z.string().max(MAX_FILE_NAME_CHARS).nullish(),
  }),
  ...cacheFields,
});
const texts = z.union([z.string(), z.array(textPart).max(MAX_MESSAGES)]);
const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  index: z.number().optional(),
  function: z.strictObject({
    name: z.string().min(1),
    arguments: z.string(),
    parsed_arguments: z.unknown().optional(),
  }),
});

/** Name of the participant, if a role has several. */
const speaker = z.string().min(1).max(MAX_SPEAKER_CHARS).nullish();

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), name: speaker, content: texts }),
  z.strictObject({
    role: z.literal('user'),
    name: speaker,
    content: z.union([
      z.string(),
      z
        .array(z.discriminatedUnion('type', [textPart, imagePart, filePart]))
        .min(1)
        .max(MAX_MESSAGES),
    ]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    name: speaker,
    content: z
      .union([
        z.string(),
        z.array(
          z.discriminatedUnion('type', [
            textPart,
            z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
          ]),
        ),
      ])
      .nullish(),
    tool_calls: z.array(toolCall).nullish(),
    reasoning_details: z
      .array(z.looseObject({ type: z.string(), data: z.string().nullish() }))
      .max(MAX_MESSAGES)
      .nullish(),
    // Fields of answers that clients send back. They are not sent to a model again.
    reasoning: z.string().nullish(),
    refusal: z.string().nullish(),
    annotations: z.array(z.unknown()).nullish(),
    reasoning_content: z.string().nullish(),
    audio: z.null().optional(),
    function_call: z.null().optional(),
    // Added by OpenAI's SDK, which parses JSON and arguments into these fields.
    parsed: z.unknown().optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string().min(1),
    content: texts,
    // Name of the function, which tool_call_id identifies as well.
    name: z.string().nullish(),
  }),
]);

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject(functionFields),
  ...cacheFields,
});

const namedFunction = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({ name: z.string() }),
});
const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  // Mistral's name for `required`.
  z.literal('any').transform(() => 'required' as const),
  z.discriminatedUnion('type', [
    namedFunction.transform(({ function: { name } }): NamedTools => ({
      mode: 'required',
      names: [['tool_choice.function.name', name]],
    })),
    z
      .strictObject({
        type: z.literal('allowed_tools'),
        allowed_tools: z.strictObject({
          mode: z.enum(['auto', 'required']),
          tools: z.array(namedFunction).min(1).max(MAX_TOOLS),
        }),
      })
      .transform(({ allowed_tools: { mode, tools } }): NamedTools => ({
        mode,
        names: tools.map(({ function: { name } }, at) => [
          `tool_choice.allowed_tools.tools[${at}].function.name`,
          name,
        ]),
      })),
  ]),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string(),
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const penalty = z.number().min(-2).max(2).optional();
const positive = z.number().int().min(1).max(1_000_000);

/** All parameters that can be translated. */
const translatedRequest = z.strictObject({
  model: z.string(),
  messages: z.array(message).min(1).max(MAX_MESSAGES),
  stream: z.boolean().optional(),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      include_obfuscation: z.boolean().nullish(),
    })
    .optional(),
  tools: z.array(tool).max(MAX_TOOLS).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: responseFormat.optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_tokens: positive.optional(),
  max_completion_tokens: positive.optional(),
  stop: z.union([z.string(), z.array(z.string().max(1_000)).max(16)]).optional(),
  seed: z.number().int().optional(),
  random_seed: z.number().int().optional(),
  top_k: z.number().int().optional(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  reasoning_effort: effort.nullish(),
  // Names of the same setting at OpenRouter, DeepSeek and Zhipu, and DashScope.
  reasoning: z.looseObject({ effort: effort.nullish(), enabled: z.boolean().nullish() }).optional(),
  thinking: z.looseObject({ type: z.string() }).optional(),
  enable_thinking: z.boolean().optional(),
});

type TranslatedRequest = z.output<typeof translatedRequest>;

/** Translates the body. Throws ParameterError, and UnsupportedParameterError for parameters that cannot be translated. */
function translate(body: ApiRequest['body'], ignored: IgnoredParameters): TranslatedCall {
  const neutral = withoutNeutral(withTools(body), WITHOUT_EFFECT);
  const checkedBody = withoutHints(neutral, COMPLETION_HINTS, ignored);
  const request = parameters(translatedRequest, checkedBody);
  const { stop, parallel_tool_calls: parallelToolCalls } = request;
  return {
    messages: messagesOf(request.messages),
    ...offeredTools(
      (request.tools ?? []).map((one) => ({ ...toolOf(one.function), ...cacheOf(one) })),
      request.tool_choice,
    ),
    ...generationIn({
      temperature: request.temperature,
      topP: request.top_p,
      topK: request.top_k,
      // Zero equals the default.
      frequencyPenalty: request.frequency_penalty || undefined,
      presencePenalty: request.presence_penalty || undefined,
      maxTokens: request.max_completion_tokens ?? request.max_tokens,
      stop: typeof stop === 'string' ? [stop] : stop,
      seed: request.seed ?? request.random_seed,
    } satisfies RequestedGeneration),
    ...thinkingOf(request),
    ...(parallelToolCalls === false && { parallelToolCalls }),
    format: formatOf(request.response_format),
  };
}

/** Whether and how much the model thinks, from the fields of any vendor. */
function thinkingOf(request: TranslatedRequest): ReturnType<typeof effortOf> {
  const { reasoning_effort, reasoning, thinking, enable_thinking } = request;
  const isOff =
    enable_thinking === false || thinking?.type === 'disabled' || reasoning?.enabled === false;
  return {
    ...effortOf(reasoning_effort ?? reasoning?.effort),
    ...(isOff && { thinking: false }),
  };
}

function messagesOf(requestMessages: TranslatedRequest['messages']): TranslatedMessage[] {
  const names = new Map<string, string>();
  const speakerIn = speakersOf(requestMessages);
  return requestMessages.flatMap((one, at): TranslatedMessage | TranslatedMessage[] => {
    switch (one.role) {
      case 'system':
      case 'developer':
        return systemMessages(one.content, speakerIn(one));
      case 'user':
        return { role: 'user', content: contentOf(one.content, speakerIn(one), `messages[${at}]`) };
      case 'assistant': {
        const toolCalls = (one.tool_calls ?? []).map((call) => {
          names.set(call.id, call.function.name);
          return readToolCall({ id: call.id, ...call.function });
        });
        const text = textOf(one.content ?? '') + (one.refusal ?? '');
        // A message of tool calls without text gets no speaker prefix.
        const content = text === '' ? '' : speakerIn(one) + text;
        const providerState = firstState((one.reasoning_details ?? []).map(({ data }) => data));
        return {
          role: 'assistant',
          content,
          ...(toolCalls.length > 0 && { toolCalls }),
          ...(providerState && { providerState }),
        };
      }
      case 'tool': {
        const name = names.get(one.tool_call_id);
        if (name === undefined) {
          throw new ParameterError(
            `messages[${at}].tool_call_id`,
            msg`No message before has a tool call with the id ${one.tool_call_id}. Send the message that called the tool as well.`,
          );
        }
        const content = textOf(one.content);
        const mark = markIn(one.content);
        return { role: 'tool', toolCallId: one.tool_call_id, name, content, ...mark };
      }
    }
  });
}

/** One message, or one per cache breakpoint of the prompt. */
function systemMessages(content: z.output<typeof texts>, speaker: string): TranslatedMessage[] {
  const system = (text: string) => ({ role: 'system', content: text }) as const;
  if (typeof content === 'string' || content.every((part) => !part.cache_control)) {
    return [system(speaker + textOf(content))];
  }
  return content.map((part, at) => ({
    ...system((at === 0 ? speaker : '') + part.text),
    ...cacheOf(part),
  }));
}

/** The last cache breakpoint of the parts, which are joined into one text. */
function markIn(content: z.output<typeof texts>): { readonly cache?: CacheMark } {
  if (typeof content === 'string') return {};
  const marked = content.findLast((part) => part.cache_control);
  return marked ? cacheOf(marked) : {};
}

/**
 * Prefix of a message's text, the only place for a name in other protocols. It tells
 * participants of one role apart, and is omitted if a role has only one, so that models do not repeat it.
 */
function speakersOf(requestMessages: TranslatedRequest['messages']): (one: Message) => string {
  const speakers = new Map<string, Set<string>>();
  for (const { role, name } of requestMessages) {
    speakers.set(role, (speakers.get(role) ?? new Set()).add(name ?? ''));
  }
  return ({ role, name }) => (name && (speakers.get(role)?.size ?? 0) > 1 ? `${name}: ` : '');
}

function textOf(content: string | readonly ({ text: string } | { refusal: string })[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? part.text : part.refusal)).join('');
}

type Message = z.output<typeof message>;
type UserContent = Extract<Message, { role: 'user' }>['content'];

function contentOf(
  content: UserContent,
  speaker: string,
  place: string,
): string | (ContentPart | FilePart)[] {
  if (typeof content === 'string') return speaker + content;
  const parts = content.map((part, at): ContentPart | FilePart => {
    const mark = cacheOf(part);
    if (part.type === 'text') return { type: 'text', text: part.text, ...mark };
    if (part.type === 'file') {
      const { file_data, filename } = part.file;
      return filePartOf(file_data, filename, `${place}.content[${at}].file.file_data`);
    }
    const { url, detail } = part.image_url;
    const chosen = { ...mark, ...((detail === 'low' || detail === 'high') && { detail }) };
    const [, mimeType, data] = /^data:([^;]+);base64,(.*)$/is.exec(url) ?? [];
    if (mimeType === undefined || data === undefined) return { type: 'image-url', url, ...chosen };
    return { type: 'image', mimeType, data, ...chosen };
  });
  if (speaker === '') return parts;
  const [first, ...others] = parts;
  if (first?.type === 'text') return [{ ...first, text: speaker + first.text }, ...others];
  return [{ type: 'text', text: speaker }, ...parts];
}

function formatOf(format: TranslatedRequest['response_format']): TranslatedCall['format'] {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json_schema', schema: { type: 'object' } };
    case 'json_schema': {
      const { name, schema } = format.json_schema;
      return { type: 'json_schema', name, schema };
    }
  }
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'stop',
  other: 'stop',
};

/** Writes one answer in the protocol, as chunks or as one body. */
class CompletionWriter implements AnswerWriter {
  private readonly base: { readonly id: string; readonly created: number; readonly model: string };
  private readonly answer: CollectedAnswer;
  private hasBegun = false;

  constructor(
    private readonly request: CompletionRequest,
    isAgent: boolean,
  ) {
    const created = Math.floor(Date.now() / 1_000);
    this.base = { id: `chatcmpl-${randomUUID()}`, created, model: request.model };
    this.answer = new CollectedAnswer(isAgent);
  }

  add(parts: readonly TurnPart[]): string {
    return parts.map((part) => this.addPart(part)).join('');
  }

  end(context: AnswerContext): string {
    const { answer } = this;
    answer.checkWhole();
    const { sources } = context;
    const delta = {
      ...(sources && { annotations: this.annotations(sources) }),
      ...reasoningDetails(answer),
    };
    const last = this.chunk(delta, this.finishReason(), {
      ...(sources && { sources: sources.map(referenceOf) }),
    });
    const usage = { ...this.chunkBase(), choices: [], usage: this.wireUsage(context) };
    return last + (this.request.withUsage ? dataEvent(usage) : '') + DONE_EVENT;
  }

  whole(context: AnswerContext): object {
    const { answer } = this;
    answer.checkWhole();
    const { text, reasoning, calls } = answer;
    const { sources } = context;
    const content = text === '' && calls.length > 0 ? null : text;
    return {
      ...this.base,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content,
            refusal: null,
            ...(reasoning !== '' && { reasoning_content: reasoning }),
            ...reasoningDetails(answer),
            ...this.callsIn(calls),
            ...(sources && { annotations: this.annotations(sources) }),
          },
          logprobs: null,
          finish_reason: this.finishReason(),
        },
      ],
      usage: this.wireUsage(context),
      ...(sources && { sources: sources.map(referenceOf) }),
    };
  }

  private addPart(part: TurnPart): string {
    const visiblePart = this.answer.add(part);
    switch (visiblePart?.type) {
      case undefined:
        return '';
      case 'text-delta':
        return this.chunk({ content: visiblePart.text });
      case 'reasoning-delta':
        return this.chunk({ reasoning_content: visiblePart.text });
      case 'tool-call': {
        const index = this.answer.calls.length - 1;
        if (this.request.isLegacy)
          return index > 0 ? '' : this.chunk(this.callsIn([visiblePart.toolCall]));
        return this.chunk({ tool_calls: [{ index, ...wireCall(visiblePart.toolCall) }] });
      }
    }
  }

  private callsIn(calls: readonly ToolCall[]): object {
    const [first] = calls;
    if (!first) return {};
    if (!this.request.isLegacy) return { tool_calls: calls.map(wireCall) };
    return { function_call: { name: first.name, arguments: first.arguments } };
  }

  private finishReason(): string {
    const reason = FINISH_REASONS[this.answer.finish];
    return this.request.isLegacy && reason === 'tool_calls' ? 'function_call' : reason;
  }

  private chunk(delta: object, finish: string | null = null, beside: object = {}): string {
    const begin = this.hasBegun ? '' : dataEvent(this.chunkOf({ role: 'assistant', content: '' }));
    this.hasBegun = true;
    return begin + dataEvent({ ...this.chunkOf(delta, finish), ...beside });
  }

  private chunkOf(delta: object, finish: string | null = null): object {
    return {
      ...this.chunkBase(),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.request.withUsage && { usage: null }),
    };
  }

  private chunkBase(): object {
    return { ...this.base, object: 'chat.completion.chunk' };
  }

  private wireUsage(context: AnswerContext): object {
    const used = this.answer.usageOf(context);
    const { cachedInputTokens: cached, reasoningTokens: reasoning } = used;
    return {
      prompt_tokens: used.inputTokens,
      completion_tokens: used.outputTokens,
      total_tokens: used.totalTokens,
      ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
      ...(reasoning !== undefined && {
        completion_tokens_details: { reasoning_tokens: reasoning },
      }),
    };
  }

  private annotations(sources: readonly Source[]): object[] {
    return citationsOf(this.answer.text, sources).map(({ source, ...cited }) => ({
      type: 'url_citation',
      url_citation: cited,
      source,
    }));
  }
}

/** The state as OpenRouter represents encrypted reasoning (openrouter.ai/docs, ReasoningDetail, 2026-11). */
function reasoningDetails({ providerState }: CollectedAnswer): {
  readonly reasoning_details?: readonly object[];
} {
  if (!providerState) return {};
  const data = encodeState(providerState);
  return {
    reasoning_details: [{ type: 'reasoning.encrypted', data, format: 'unknown', index: 0 }],
  };
}

function wireCall({ id, name, arguments: text }: ToolCall): object {
  return { id, type: 'function', function: { name, arguments: text } };
}
