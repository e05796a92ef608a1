import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { readToolCall } from '../../../provider/index.js';
import type { ContentPart, ProviderState } from '../../../provider/index.js';
import { decodeState, newId } from '../../answer/encoded-state.js';
import { ParameterError, UnsupportedParameterError } from '../../answer/api.errors.js';
import type { FilePart, TranslatedMessage } from '../../answer/api.request.js';
import { fileData, filePartOf, MAX_FILE_NAME_CHARS } from '../../answer/request-files.js';
import { argumentsOf, CALL_PREFIXES, calledIn, tool } from './offered-tools.js';
import type { CallFields, CallType, GivenTool, OfferedTools } from './offered-tools.js';
import type { JsonObject } from './stored-response.entity.js';

// Items of the Responses protocol of OpenAI: what clients send, what is stored, and what a model is told of them. Fields that
// clients add to an item are passed over. Does no I/O.

export const MAX_ITEMS = 10_000;
const ID = z.string().max(200).nullish();
const CALL_ID = z.string().min(1);

const inputText = z.looseObject({ type: z.literal('input_text'), text: z.string() });
const inputImage = z.looseObject({
  type: z.literal('input_image'),
  image_url: z
    .string()
    .regex(/^(https?:\/\/|data:image\/[\w.+-]+;base64,)/i, 'an http or data address is expected'),
  detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
});
const inputFile = z.looseObject({
  type: z.literal('input_file'),
  file_data: fileData,
  filename: z.string().max(MAX_FILE_NAME_CHARS).nullish(),
});
const inputPart = z.discriminatedUnion('type', [inputText, inputImage, inputFile]);
const inputParts = z.array(inputPart).max(MAX_ITEMS);
const outputPart = z.discriminatedUnion('type', [
  // Annotations belong to answers and are not sent to a model again.
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  inputText,
]);

const named = { call_id: CALL_ID, name: z.string().min(1), namespace: z.string().nullish() };
const record = z.record(z.string(), z.unknown());

const callItems = [
  z.looseObject({ type: z.literal('function_call'), id: ID, ...named, arguments: z.string() }),
  z.looseObject({ type: z.literal('custom_tool_call'), id: ID, ...named, input: z.string() }),
  z.looseObject({
    type: z.literal('local_shell_call'),
    id: ID,
    call_id: CALL_ID.nullish(),
    action: record,
  }),
  z.looseObject({ type: z.literal('shell_call'), id: ID, call_id: CALL_ID, action: record }),
  z.looseObject({
    type: z.literal('apply_patch_call'),
    id: ID,
    call_id: CALL_ID,
    operation: record,
  }),
  z.looseObject({
    type: z.literal('tool_search_call'),
    id: ID,
    call_id: CALL_ID.nullish(),
    arguments: z.unknown(),
  }),
] as const;

const output = z.union([z.string(), inputParts]);
const outputItems = [
  z.looseObject({ type: z.literal('function_call_output'), id: ID, call_id: CALL_ID, output }),
  z.looseObject({ type: z.literal('custom_tool_call_output'), id: ID, call_id: CALL_ID, output }),
  // Its `id` is that of the call in the API reference; the AI SDK sends `call_id`.
  z.looseObject({
    type: z.literal('local_shell_call_output'),
    id: ID,
    call_id: CALL_ID.nullish(),
    output: z.string(),
  }),
  z.looseObject({
    type: z.literal('shell_call_output'),
    id: ID,
    call_id: CALL_ID,
    output: z.array(z.unknown()).max(MAX_ITEMS),
  }),
  z.looseObject({
    type: z.literal('apply_patch_call_output'),
    id: ID,
    call_id: CALL_ID,
    status: z.string().nullish(),
    output: z.string().nullish(),
  }),
  z.looseObject({
    type: z.literal('tool_search_output'),
    id: ID,
    call_id: CALL_ID.nullish(),
    tools: z.array(z.unknown()).max(MAX_ITEMS),
  }),
] as const;

export const item = z.discriminatedUnion('type', [
  z.discriminatedUnion('role', [
    z.looseObject({
      type: z.literal('message'),
      role: z.enum(['user', 'system', 'developer']),
      content: z.union([z.string(), inputParts]),
      id: ID,
    }),
    z.looseObject({
      type: z.literal('message'),
      role: z.literal('assistant'),
      content: z.union([z.string(), z.array(outputPart).max(MAX_ITEMS)]),
      id: ID,
    }),
  ]),
  ...callItems,
  ...outputItems,
  // Thinking is returned to a model only as a state encoded by Plinth.
  z.looseObject({
    type: z.literal('reasoning'),
    id: ID,
    encrypted_content: z.string().nullish(),
  }),
  z.looseObject({ type: z.literal('item_reference'), id: z.string().min(1).max(200) }),
  z.looseObject({ type: z.literal('unread'), of: z.looseObject({ type: z.string() }) }),
]);

export type Item = z.output<typeof item>;
type CallItem = z.output<(typeof callItems)[number]>;
type OutputItem = z.output<(typeof outputItems)[number]>;

const READ_TYPES: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'item_reference',
  ...Object.keys(CALL_PREFIXES),
  ...outputItems.map(({ shape }) => shape.type.value),
]);

/**
 * Items as the schema knows them: the type of a message may be left out, and an item of another type, such as the result of a
 * tool that a service ran itself, is told to no model.
 */
export function withTypes(input: unknown): unknown {
  if (!Array.isArray(input)) return input;
  return input.map((one: unknown) => {
    if (typeof one !== 'object' || one === null) return one;
    if (!('type' in one) || one.type == null) {
      return 'role' in one ? { ...one, type: 'message' } : one;
    }
    const isOther = typeof one.type === 'string' && !READ_TYPES.has(one.type);
    return isOther ? { type: 'unread', of: one } : one;
  });
}

/** The items of a request as they are stored and listed: each with an id, each message with a list of parts. */
export function storedItems(input: string | readonly Item[]): JsonObject[] {
  const items: readonly Item[] =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  return items.map((one): JsonObject => {
    switch (one.type) {
      case 'message': {
        const type = one.role === 'assistant' ? 'output_text' : 'input_text';
        const { content } = one;
        const parts = typeof content === 'string' ? [{ type, text: content }] : content;
        return { ...one, id: one.id ?? newId('msg'), status: 'completed', content: parts };
      }
      case 'reasoning':
        return { ...one, id: one.id ?? newId('rs') };
      case 'item_reference':
        return one;
      case 'unread':
        return one.of;
      default: {
        const prefix = isCall(one) ? CALL_PREFIXES[one.type] : OUTPUT_PREFIXES[one.type];
        return { status: 'completed', ...one, id: one.id ?? newId(prefix) };
      }
    }
  });
}

function isCall(one: CallItem | OutputItem): one is CallItem {
  return one.type in CALL_PREFIXES;
}

const OUTPUT_PREFIXES: Readonly<Record<OutputItem['type'], string>> = {
  function_call_output: 'fco',
  custom_tool_call_output: 'ctco',
  local_shell_call_output: 'lsho',
  shell_call_output: 'sho',
  apply_patch_call_output: 'apco',
  tool_search_output: 'tso',
};

/** The ids that items of a request refer to. */
export function referencesIn(input: string | readonly Item[]): string[] {
  if (typeof input === 'string') return [];
  return input.flatMap((one) => (one.type === 'item_reference' ? [one.id] : []));
}

/** Tools that the client loaded for the model by a tool search. */
export function loadedTools(items: readonly JsonObject[]): GivenTool[] {
  return items.flatMap((one) => {
    if (one['type'] !== 'tool_search_output' || !Array.isArray(one['tools'])) return [];
    return one['tools'].flatMap((candidate) => tool.safeParse(candidate).data ?? []);
  });
}

/** Parses stored items. */
export function readItems(stored: readonly JsonObject[]): Item[] {
  return z.array(item).parse(withTypes([...stored]));
}

/**
 * The messages for a model. Adjacent calls belong to one message, after its text. Images and files of outputs follow in a
 * user message.
 */
export function messagesOf(
  items: readonly Item[],
  /** Number of items before those of the request. */
  earlier: number,
  tools: OfferedTools,
): TranslatedMessage[] {
  const reader = new ItemReader(tools);
  for (const [at, one] of items.entries()) reader.read(one, `input[${at - earlier}]`);
  return reader.end();
}

/** Converts items to messages in order. */
class ItemReader {
  private readonly messages: TranslatedMessage[] = [];
  /** Names of the called tools by the ids of their calls. */
  private readonly names = new Map<string, string>();
  /** Images and files of outputs that are not in a message yet. */
  private media: (ContentPart | FilePart)[] = [];
  /** Provider state that belongs to the next call. */
  private state: ProviderState | undefined;

  constructor(private readonly tools: OfferedTools) {}

  /** @param place The parameter of the item. */
  read(one: Item, place: string): void {
    switch (one.type) {
      case 'message':
        if (one.role !== 'assistant') this.state = undefined;
        this.add(messageOf(one, place));
        break;
      case 'reasoning':
        this.state = decodeState(one.encrypted_content ?? '') ?? this.state;
        break;
      case 'item_reference':
      case 'unread':
        break;
      default:
        if (isCall(one)) this.readCall(one);
        else this.readOutput(one, place);
    }
  }

  end(): TranslatedMessage[] {
    this.flushMedia();
    return this.messages;
  }

  private readCall(one: CallItem): void {
    const id = one.call_id ?? one.id;
    // A tool search executed by the service itself.
    if (!id) return;
    const fields = one as CallFields;
    const name = this.tools.nameOf(calledIn(fields));
    this.names.set(id, name);
    const call = readToolCall({ id, name, arguments: argumentsOf(fields) });
    const last = this.messages.at(-1);
    const isOpen = last?.role === 'assistant' && this.media.length === 0;
    const before = isOpen ? last : ({ role: 'assistant', content: '' } as const);
    const { state } = this;
    const message = {
      ...before,
      toolCalls: [...(before.toolCalls ?? []), call],
      ...(state && !before.providerState && { providerState: state }),
    };
    this.state = undefined;
    if (isOpen) this.messages[this.messages.length - 1] = message;
    else this.add(message);
  }

  private readOutput(one: OutputItem, place: string): void {
    if (one.type === 'tool_search_output' && !one.call_id) return;
    const id = one.call_id ?? one.id ?? '';
    const name = this.names.get(id);
    if (name === undefined) throw unknownCall(`${place}.call_id`, id);
    const parts = partsOf(outputOf(one), `${place}.output`);
    this.media.push(...parts.filter(({ type }) => type !== 'text'));
    this.add({ role: 'tool', toolCallId: id, name, content: textIn(parts) });
  }

  private add(message: TranslatedMessage): void {
    // Keeps results of adjacent calls together.
    if (message.role !== 'tool') this.flushMedia();
    this.messages.push(message);
  }

  private flushMedia(): void {
    if (this.media.length > 0) this.messages.push({ role: 'user', content: this.media });
    this.media = [];
  }
}

function outputOf(one: OutputItem): string | z.output<typeof inputParts> {
  switch (one.type) {
    case 'shell_call_output':
      return JSON.stringify(one.output);
    case 'apply_patch_call_output':
      return [one.status ?? '', one.output ?? ''].filter((text) => text !== '').join('\n');
    case 'tool_search_output':
      return JSON.stringify({ loaded: loadedTools([one]).map(namesIn) });
    default:
      return one.output;
  }
}

function namesIn(one: GivenTool): string {
  return 'name' in one && typeof one.name === 'string' ? one.name : one.type;
}

function unknownCall(param: string, id: string): ParameterError {
  return new ParameterError(
    param,
    msg`No message before has a tool call with the id ${id}. Send the message that called the tool as well.`,
  );
}

function messageOf(
  one: Extract<Item, { type: 'message' }>,
  place: string,
): Exclude<TranslatedMessage, { role: 'tool' }> {
  switch (one.role) {
    case 'assistant': {
      const { content } = one;
      const text =
        typeof content === 'string'
          ? content
          : content.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('');
      return { role: 'assistant', content: text };
    }
    case 'system':
    case 'developer': {
      const parts = partsOf(one.content, `${place}.content`);
      const medium = parts.findIndex(({ type }) => type !== 'text');
      if (medium >= 0) throw new UnsupportedParameterError(`${place}.content[${medium}]`);
      return { role: 'system', content: textIn(parts) };
    }
    case 'user': {
      const parts = partsOf(one.content, `${place}.content`);
      const isText = parts.every(({ type }) => type === 'text');
      return { role: 'user', content: isText ? textIn(parts) : parts };
    }
  }
}

function textIn(parts: readonly (ContentPart | FilePart)[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function partsOf(
  content: string | z.output<typeof inputParts>,
  place: string,
): (ContentPart | FilePart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, at): ContentPart | FilePart => {
    if (part.type === 'input_text') return { type: 'text', text: part.text };
    if (part.type === 'input_file') {
      return filePartOf(part.file_data, part.filename, `${place}[${at}]`);
    }
    const { image_url: url, detail } = part;
    const chosen = detail === 'low' || detail === 'high' ? { detail } : {};
    const [, mimeType, data] = /^data:([^;]+);base64,(.*)$/is.exec(url) ?? [];
    if (mimeType === undefined || data === undefined) return { type: 'image-url', url, ...chosen };
    return { type: 'image', mimeType, data, ...chosen };
  });
}

/** Whether the item type is a tool call. */
export function isCallType(type: unknown): type is CallType {
  return typeof type === 'string' && type in CALL_PREFIXES;
}
