import type { ChatCall, ChatMessage, RelayedBody } from '../../provider/index.js';
import { IMAGE_TOKENS } from '../model-window.js';

/** What a service adds to a message: role, separators, names of fields. */
const MESSAGE_TOKENS = 16;
/** What services tell a model about the use of tools or of a format, beside the definitions. */
const INSTRUCTION_TOKENS = 1_000;
/** Fixed tokens per request. */
const FRAME_TOKENS = 64;
/** The window of a model whose record does not say it: that of Qwen-Long, the largest of the services with a preset. */
const MAX_WINDOW = 10_000_000;

/** How Qwen-Long is given a file: as the text of a message. */
const FILE_IN_TEXT = /fileid:\/\//i;
/** Parts in which an address is text alone: what a model wrote, or what it has been told before. */
const TEXT_PARTS = /(text|thinking|refusal|search_result|tool_use|_tool_result)$/;
/** What protocols call the id or the bytes of a file. */
const FILE_FIELDS = /^file_?(id|data)$/i;
const ADDRESS = /^\s*[a-z][a-z\d+.-]{0,20}:\/\//i;
/** Documents and films: no count of their bytes says how many tokens they are. */
const PACKED = /^\s*data:(?!image\/)/i;

/**
 * Tokens of a text at most: its bytes. Tokenizers of models work on bytes or fall back to them, so that no token is shorter
 * than one.
 */
export function mostTokens(text: string): number {
  return Buffer.byteLength(text);
}

/**
 * Tokens that the service can read of the call at most. Images count as model-window.ts counts them; what an address leads to,
 * as the whole context window.
 */
export function mostInputTokens(
  { messages, tools, responseFormat }: ChatCall,
  contextWindow = MAX_WINDOW,
): number {
  const definitions = [
    ...(tools?.length ? [tools] : []),
    ...(responseFormat ? [responseFormat] : []),
  ];
  const shown =
    FRAME_TOKENS +
    messages.reduce((sum, message) => sum + ofMessage(message), 0) +
    definitions.reduce((sum, one) => sum + mostTokens(JSON.stringify(one)) + INSTRUCTION_TOKENS, 0);
  return messages.some(namesFile) ? Math.max(shown, contextWindow) : shown;
}

function namesFile({ content }: ChatMessage): boolean {
  if (typeof content === 'string') return FILE_IN_TEXT.test(content);
  return content.some((part) =>
    part.type === 'text' ? FILE_IN_TEXT.test(part.text) : part.type === 'image-url',
  );
}

function ofMessage(message: ChatMessage): number {
  const { content } = message;
  const { toolCalls: calls = [], providerState = undefined } =
    message.role === 'assistant' ? message : {};
  const called = calls.reduce(
    (sum, call) => sum + mostTokens(call.id + call.name + call.arguments) + MESSAGE_TOKENS,
    MESSAGE_TOKENS + (providerState ? mostTokens(JSON.stringify(providerState.data)) : 0),
  );
  if (typeof content === 'string') return called + mostTokens(content);
  return content.reduce(
    (sum, part) =>
      sum + MESSAGE_TOKENS + (part.type === 'text' ? mostTokens(part.text) : IMAGE_TOKENS),
    called,
  );
}

/** The same for a body that is passed on, with all of its fields, also those that are not known here. */
export function mostBodyTokens(
  { messages, input, ...body }: RelayedBody,
  contextWindow = MAX_WINDOW,
): number {
  const instructions = body['tools'] || body['functions'] ? INSTRUCTION_TOKENS : 0;
  const lists = [messages, input];
  const shown = lists.reduce<number>(
    (sum, list) => sum + ofList(list, ofContent),
    FRAME_TOKENS + instructions + ofValue(body),
  );
  const isAll = !lists.some((list) => Array.isArray(list) && list.some(hidesContent));
  return isAll ? shown : Math.max(shown, contextWindow);
}

/** Whether a message, or the result of a tool, has content that the request does not show. */
function hidesContent(message: unknown): boolean {
  if (!isRecord(message)) return false;
  const { content } = message;
  if (typeof content === 'string') return FILE_IN_TEXT.test(content);
  return Array.isArray(content) ? content.some(isHidden) : isHidden(content);
}

function isHidden(part: unknown): boolean {
  if (!isRecord(part)) return false;
  const { type, text } = part;
  if (type === 'tool_result') return hidesContent(part);
  if (type === 'text') return typeof text === 'string' && FILE_IN_TEXT.test(text);
  if (typeof type === 'string' && TEXT_PARTS.test(type)) return false;
  const { source } = part;
  const form = type === 'document' && isRecord(source) ? source['type'] : undefined;
  return form === 'base64' || (form !== 'text' && isElsewhere(part));
}

/** Whether something in the value names a file, or is one that may unpack to any length. */
function isElsewhere(value: unknown, name = ''): boolean {
  if (typeof value === 'string') {
    return FILE_FIELDS.test(name) || ADDRESS.test(value) || PACKED.test(value);
  }
  if (Array.isArray(value)) return value.some((one) => isElsewhere(one, name));
  return isRecord(value) && Object.entries(value).some(([at, field]) => isElsewhere(field, at));
}

function ofValue(value: unknown): number {
  if (typeof value === 'string') return mostTokens(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return ofList(value, ofValue);
  return ofFields(value, ofValue);
}

function ofList(value: unknown, most: (element: unknown) => number): number {
  if (!Array.isArray(value)) return ofValue(value);
  return value.reduce<number>((sum, one) => sum + MESSAGE_TOKENS + most(one), 0);
}

function ofFields(value: object, most: (field: unknown, name: string) => number): number {
  return Object.entries(value).reduce<number>(
    (sum, [name, one]) => sum + mostTokens(name) + most(one, name),
    0,
  );
}

/** Of a message or the result of a tool. What looks like an image anywhere else, as in a tool, is read as text. */
function ofContent(value: unknown): number {
  if (!isRecord(value)) return ofValue(value);
  return ofFields(value, (field, name) =>
    name === 'content' ? ofList(field, ofPart) : ofValue(field),
  );
}

function ofPart(part: unknown): number {
  if (!isRecord(part)) return ofValue(part);
  const { type } = part;
  if (type === 'tool_result') return ofContent(part);
  if (type !== 'image' && type !== 'image_url' && type !== 'input_image') return ofValue(part);
  return IMAGE_TOKENS + ofFields(part, (field) => ofValue(withoutPixels(field)));
}

function withoutPixels(value: unknown): unknown {
  if (typeof value === 'string' && PIXELS.test(value)) return '';
  if (!isRecord(value)) return value;
  if (value['type'] === 'base64') return { ...value, data: '' };
  const { url } = value;
  return typeof url === 'string' && PIXELS.test(url) ? { ...value, url: '' } : value;
}

const PIXELS = /^data:image\//i;

function isRecord(value: unknown): value is RelayedBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What services call the limit of an answer. Which one counts where there are several differs. */
const OUTPUT_FIELDS: readonly string[] = [
  ...['max_tokens', 'max_completion_tokens'],
  ...['max_output_tokens', 'max_new_tokens', 'n_predict', 'num_predict'],
];

export function isOutputLimit(field: string): boolean {
  return OUTPUT_FIELDS.includes(field);
}

/** What services call the number of answers. */
const ANSWER_FIELDS = ['n', 'best_of'] as const;

/**
 * The limit that the body has, the largest of several; undefined without one, and for one that is none: some services take
 * -1 or 0 for no limit.
 */
export function outputLimitIn(body: RelayedBody): number | undefined {
  const given = OUTPUT_FIELDS.map((field) => body[field] ?? undefined);
  const limits = given.filter((value) => value !== undefined);
  const isLimit = limits.every((value) => Number.isInteger(value) && Number(value) > 0);
  return isLimit && limits.length > 0 ? Math.max(...limits.map(Number)) : undefined;
}

/** How many answers the body asks for. */
export function answersIn(body: RelayedBody): number {
  const given = ANSWER_FIELDS.map((field) => Math.ceil(Number(body[field])));
  return Math.max(1, ...given.filter(Number.isFinite));
}

export function textsAtMost(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + mostTokens(text) + MESSAGE_TOKENS, FRAME_TOKENS);
}
