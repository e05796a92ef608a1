import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { readToolCall } from '../../../provider/index.js';
import type { ChatMessage, ContentPart, ToolCall } from '../../../provider/index.js';
import { ParameterError, UnsupportedParameterError } from '../../answer/door.errors.js';
import type { TranslatedCall } from '../../answer/door.request.js';
import { effortOf } from '../../answer/effort.js';
import { effort, MOST_TOOLS, modelName, parameters } from '../../answer/parameters.js';
import { offeredTools } from '../../answer/tool-choice.js';
import type { ToolChoice } from '../../answer/tool-choice.js';
import { functionFields } from '../function.js';
import { functionsIn } from './offered-functions.js';
import type { OfferedFunctions } from './offered-functions.js';
import type { JsonObject } from './stored-response.entity.js';

// Requests of the Responses protocol of OpenAI, in the words of the adapters. Does no I/O.

const MOST_ITEMS = 10_000;
const ID = z.string().max(200).nullish();
const STATUS = z.string().nullish();

/** Parameters at the value at which they change nothing. Those that only name the caller change nothing at any value. */
const WITHOUT_EFFECT = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    background: (value: unknown) => value === false,
    // Reasoning is never encrypted here: there is none to include.
    include: (value: unknown) =>
      Array.isArray(value) && value.every((one) => one === 'reasoning.encrypted_content'),
    service_tier: (value: unknown) => value === 'auto' || value === 'default',
    top_logprobs: (value: unknown) => value === 0,
    truncation: (value: unknown) => value === 'disabled',
    user: () => true,
    safety_identifier: () => true,
    prompt_cache_key: () => true,
    prompt_cache_retention: () => true,
    client_metadata: () => true,
  }),
);

const inputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z
    .string()
    .regex(/^(https?:\/\/|data:image\/[\w.+-]+;base64,)/i, 'an http or data address is expected'),
  detail: z.enum(['auto', 'low', 'high']).nullish(),
});
const inputParts = z.array(z.discriminatedUnion('type', [inputText, inputImage])).max(MOST_ITEMS);
const outputPart = z.discriminatedUnion('type', [
  // Citations and the like are of answers; no model is told them again.
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
  inputText,
]);

const common = { id: ID, status: STATUS };
/** Of the function of a call. */
const namespace = z.string().nullish();
const item = z.discriminatedUnion('type', [
  z.discriminatedUnion('role', [
    z.strictObject({
      type: z.literal('message'),
      role: z.enum(['user', 'system', 'developer']),
      content: z.union([z.string(), inputParts]),
      ...common,
    }),
    z.strictObject({
      type: z.literal('message'),
      role: z.literal('assistant'),
      content: z.union([z.string(), z.array(outputPart).max(MOST_ITEMS)]),
      phase: z.string().nullish(),
      ...common,
    }),
  ]),
  z.strictObject({
    type: z.literal('function_call'),
    call_id: z.string().min(1),
    name: z.string().min(1),
    namespace,
    arguments: z.string(),
    ...common,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: z.union([z.string(), inputParts]),
    // Of the function, which call_id says as well.
    name: z.string().nullish(),
    namespace,
    ...common,
  }),
  // What a model thought is told to no model again.
  z.looseObject({ type: z.literal('reasoning') }),
]);

type Item = z.output<typeof item>;

const functionTool = z.strictObject({ type: z.literal('function'), ...functionFields });
const tool = z.discriminatedUnion('type', [
  functionTool,
  z.strictObject({
    type: z.literal('namespace'),
    name: functionFields.name,
    // Told to no model: no other protocol has a place for it.
    description: z.string().nullish(),
    tools: z.array(functionTool).max(MOST_TOOLS),
  }),
]);
const tools = z
  .array(tool)
  .max(MOST_TOOLS)
  .refine(
    (given) => functionsIn(given).length <= MOST_TOOLS,
    `at most ${MOST_TOOLS} functions are expected`,
  );

const namedFunction = z.strictObject({ type: z.literal('function'), name: z.string() });
const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.discriminatedUnion('type', [
    namedFunction,
    z.strictObject({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(namedFunction).min(1).max(MOST_TOOLS),
    }),
  ]),
]);

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
]);

const request = z.strictObject({
  model: modelName,
  input: z.union([z.string(), z.array(item).max(MOST_ITEMS)]),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  store: z.boolean().optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_obfuscation: z.literal(false).nullish() }).optional(),
  tools: tools.optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  text: z
    .strictObject({ format: format.nullish(), verbosity: z.literal('medium').nullish() })
    .optional(),
  reasoning: z
    .strictObject({
      effort: effort.nullish(),
      // Models that show their reasoning show all of it.
      summary: z.string().nullish(),
    })
    .optional(),
  max_output_tokens: z.number().int().min(1).max(1_000_000).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
});

export type ResponseParameters = z.output<typeof request>;

/** Throws ParameterError, and UnsupportedParameterError for what cannot be honoured. */
export function readParameters(body: unknown): ResponseParameters {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return parameters(request, body);
  }
  const wanted = Object.entries(body)
    .filter(([name, value]) => WITHOUT_EFFECT.get(name)?.(value) !== true)
    .map(([name, value]): [string, unknown] => [name, name === 'input' ? withTypes(value) : value]);
  return parameters(request, Object.fromEntries(wanted));
}

/** The type of a message may be left out. */
function withTypes(input: unknown): unknown {
  if (!Array.isArray(input)) return input;
  return input.map((one: unknown) =>
    typeof one === 'object' && one !== null && 'role' in one && !('type' in one)
      ? { type: 'message', ...one }
      : one,
  );
}

/** The items of the request as they are stored and listed: each with an id, each message with a list of parts. */
export function inputItemsOf({ input }: ResponseParameters): JsonObject[] {
  const items: readonly Item[] =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  return items.map((one) => {
    switch (one.type) {
      case 'message': {
        const type = one.role === 'assistant' ? 'output_text' : 'input_text';
        const { content } = one;
        const parts = typeof content === 'string' ? [{ type, text: content }] : content;
        return { ...one, id: one.id ?? newId('msg'), status: 'completed', content: parts };
      }
      case 'function_call':
      case 'function_call_output': {
        const prefix = one.type === 'function_call' ? 'fc' : 'fco';
        return { ...one, id: one.id ?? newId(prefix), status: 'completed' };
      }
      case 'reasoning':
        return one;
    }
  });
}

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** The request with the items of the turns that it continues. */
export function translate(
  given: ResponseParameters,
  earlier: readonly JsonObject[],
  functions: OfferedFunctions,
): TranslatedCall {
  const { instructions = '', temperature, top_p, max_output_tokens: maxTokens } = given;
  const own = inputItemsOf(given);
  const items = [...earlier, ...own].map((one) => item.parse(one));
  const messages = messagesOf(items, earlier.length, functions);
  if (messages.length === 0) {
    throw new ParameterError('input', msg`The parameter ${'input'} is required.`);
  }
  const chosen = given.text?.format;
  return {
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system', content: instructions } as const]),
      ...messages,
    ],
    ...offeredTools(functions.tools, chosenIn(given.tool_choice)),
    ...(given.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...effortOf(given.reasoning?.effort),
    format: formatOf(chosen),
  };
}

/** Neighbouring calls are those of one message, after its text. Images in outputs follow in a message of the user. */
function messagesOf(
  items: readonly Item[],
  earlier: number,
  functions: OfferedFunctions,
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const names = new Map<string, string>();
  let images: ContentPart[] = [];
  const add = (message: ChatMessage): void => {
    if (images.length > 0 && message.role !== 'tool') {
      messages.push({ role: 'user', content: images });
      images = [];
    }
    messages.push(message);
  };
  for (const [at, one] of items.entries()) {
    const place = `input[${at - earlier}]`;
    switch (one.type) {
      case 'message':
        add(messageOf(one, place));
        break;
      case 'function_call': {
        const name = functions.nameOf(one);
        names.set(one.call_id, name);
        const call = readToolCall({ id: one.call_id, name, arguments: one.arguments });
        const last = messages.at(-1);
        if (last?.role === 'assistant' && images.length === 0) {
          messages[messages.length - 1] = withCall(last, call);
        } else add({ role: 'assistant', content: '', toolCalls: [call] });
        break;
      }
      case 'function_call_output': {
        const name = names.get(one.call_id);
        if (name === undefined) throw unknownCall(`${place}.call_id`, one.call_id);
        const parts = partsOf(one.output);
        images.push(...parts.filter(({ type }) => type !== 'text'));
        add({ role: 'tool', toolCallId: one.call_id, name, content: textIn(parts) });
        break;
      }
      case 'reasoning':
        break;
    }
  }
  if (images.length > 0) messages.push({ role: 'user', content: images });
  return messages;
}

function withCall(
  message: Extract<ChatMessage, { role: 'assistant' }>,
  { id, name, arguments: text, input }: ToolCall,
): ChatMessage {
  return {
    ...message,
    toolCalls: [...(message.toolCalls ?? []), { id, name, arguments: text, input }],
  };
}

function unknownCall(param: string, id: string): ParameterError {
  return new ParameterError(
    param,
    msg`No message before has a tool call with the id ${id}. Send the message that called the tool as well.`,
  );
}

function messageOf(one: Extract<Item, { type: 'message' }>, place: string): ChatMessage {
  switch (one.role) {
    case 'assistant': {
      const { content } = one;
      const text =
        typeof content === 'string'
          ? content
          : content.map((part) => ('refusal' in part ? part.refusal : part.text)).join('');
      return { role: 'assistant', content: text };
    }
    case 'system':
    case 'developer': {
      const parts = partsOf(one.content);
      const image = parts.findIndex(({ type }) => type !== 'text');
      if (image >= 0) throw new UnsupportedParameterError(`${place}.content[${image}]`);
      return { role: 'system', content: textIn(parts) };
    }
    case 'user': {
      const parts = partsOf(one.content);
      const isText = parts.every(({ type }) => type === 'text');
      return { role: 'user', content: isText ? textIn(parts) : parts };
    }
  }
}

function textIn(parts: readonly ContentPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function partsOf(content: string | z.output<typeof inputParts>): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part): ContentPart => {
    if (part.type === 'input_text') return { type: 'text', text: part.text };
    const { image_url: url, detail } = part;
    const chosen = detail === 'low' || detail === 'high' ? { detail } : {};
    const [, mimeType, data] = /^data:([^;]+);base64,(.*)$/is.exec(url) ?? [];
    if (mimeType === undefined || data === undefined) return { type: 'image-url', url, ...chosen };
    return { type: 'image', mimeType, data, ...chosen };
  });
}

function chosenIn(choice: ResponseParameters['tool_choice']): ToolChoice | undefined {
  if (typeof choice !== 'object') return choice;
  if (choice.type === 'function') {
    return { mode: 'required', names: [['tool_choice.name', choice.name]] };
  }
  const { mode, tools } = choice;
  return { mode, names: tools.map(({ name }, at) => [`tool_choice.tools[${at}].name`, name]) };
}

function formatOf(chosen: z.output<typeof format> | null | undefined): TranslatedCall['format'] {
  switch (chosen?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json_schema', schema: { type: 'object' } };
    case 'json_schema':
      return { type: 'json_schema', name: chosen.name, schema: chosen.schema };
  }
}
