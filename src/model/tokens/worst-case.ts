import type { ChatCall, ChatMessage, RelayedBody } from '../../provider/index.js';
import type { WorstCase } from '../../usage/index.js';
import { IMAGE_TOKENS } from '../model-window.js';

/** Tokens that a service adds per message: role, separators, names of fields. */
const MESSAGE_TOKENS = 16;
/** Tokens of instructions that services add for tools or a format, beside the definitions. */
const INSTRUCTION_TOKENS = 1_000;
/** Fixed tokens per request. */
const FRAME_TOKENS = 64;
/** The window of a model whose record does not say it: that of Qwen-Long, the largest of the services with a preset. */
const MAX_WINDOW = 10_000_000;

/** The form of a file for Qwen-Long: the text of a message. */
const FILE_IN_TEXT = /fileid:\/\//i;
/** Parts in which an address is only text: the output of a model, or earlier messages. */
const TEXT_PARTS = /(text|thinking|refusal|search_result|tool_use|_tool_result)$/;
/** Names that protocols give to the id or the bytes of a file. */
const FILE_FIELDS = /^file_?(id|data)$/i;
const ADDRESS = /^\s*[a-z][a-z\d+.-]{0,20}:\/\//i;
/** Documents and videos, whose bytes do not tell their tokens. */
const PACKED = /^\s*data:(?!image\/)/i;

/**
 * The maximum tokens of a text: its bytes. Tokenizers of models work on bytes or fall back to them, so that no token is shorter
 * than one.
 */
export function maxTextTokens(text: string): number {
  return Buffer.byteLength(text);
}

/**
 * The maximum tokens that the service can read of the call. Images count as model-window.ts counts them; what an address leads to,
 * as the whole context window.
 */
export function maxInputTokens(
  { messages, tools, responseFormat }: ChatCall,
  contextWindow = MAX_WINDOW,
): number {
  const definitions = [
    ...(tools?.length ? [tools] : []),
    ...(responseFormat ? [responseFormat] : []),
  ];
  const tokens =
    FRAME_TOKENS +
    messages.reduce((sum, message) => sum + ofMessage(message), 0) +
    definitions.reduce(
      (sum, one) => sum + maxTextTokens(JSON.stringify(one)) + INSTRUCTION_TOKENS,
      0,
    );
  return messages.some(namesFile) ? Math.max(tokens, contextWindow) : tokens;
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
    (sum, call) => sum + maxTextTokens(call.id + call.name + call.arguments) + MESSAGE_TOKENS,
    MESSAGE_TOKENS + (providerState ? maxTextTokens(JSON.stringify(providerState.data)) : 0),
  );
  if (typeof content === 'string') return called + maxTextTokens(content);
  return content.reduce(
    (sum, part) =>
      sum + MESSAGE_TOKENS + (part.type === 'text' ? maxTextTokens(part.text) : IMAGE_TOKENS),
    called,
  );
}

/** The same for a body that is passed on, with all of its fields, also those that are not known here. */
export function maxBodyTokens(
  { messages, input, ...body }: RelayedBody,
  contextWindow = MAX_WINDOW,
): number {
  const instructions = body['tools'] || body['functions'] ? INSTRUCTION_TOKENS : 0;
  const lists = [messages, input];
  const tokens = lists.reduce<number>(
    (sum, list) => sum + ofList(list, ofContent),
    FRAME_TOKENS + instructions + ofValue(body),
  );
  const isAll = !lists.some((list) => Array.isArray(list) && list.some(hidesContent));
  return isAll ? tokens : Math.max(tokens, contextWindow);
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

/** Whether something in the value asks a service to cache it for an hour. */
export function asksForHour(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((one) => asksForHour(one));
  return (
    isRecord(value) &&
    (value['ttl'] === '1h' || Object.values(value).some((one) => asksForHour(one)))
  );
}

function ofValue(value: unknown): number {
  if (typeof value === 'string') return maxTextTokens(value);
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
    (sum, [name, one]) => sum + maxTextTokens(name) + most(one, name),
    0,
  );
}

/** Tokens of a message or a tool result. Image-like values anywhere else, as in a tool, are read as text. */
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

/** Calls of a tool of the service where a request does not limit them. */
const MAX_SERVICE_TOOL_CALLS = 10;
const SEARCH_TOOL = /^(web_search|x_search|google_search)/;
const CODE_TOOL = /^code_(interpreter|execution)/;

/**
 * The calls of tools of the service that the request allows, which are billed by call: those of the tool (`max_uses`, messages) or
 * of the answer (`max_tool_calls`, responses), else MAX_SERVICE_TOOL_CALLS each.
 */
export function maxServiceToolCalls(
  body: RelayedBody,
): Pick<WorstCase, 'webSearches' | 'codeRuns'> {
  const { tools, max_tool_calls: ofAnswer } = body;
  const offered = Array.isArray(tools) ? tools.filter(isRecord) : [];
  const callsOf = (kind: RegExp): number =>
    offered
      .filter(({ type }) => typeof type === 'string' && kind.test(type))
      .reduce((sum, { max_uses: ofTool }) => sum + callLimit(ofTool ?? ofAnswer), 0);
  // Models of chat completions that search do so once.
  const optionSearches = isRecord(body['web_search_options']) ? 1 : 0;
  return { webSearches: callsOf(SEARCH_TOOL) + optionSearches, codeRuns: callsOf(CODE_TOOL) };
}

function callLimit(value: unknown): number {
  return Number.isInteger(value) && Number(value) > 0 ? Number(value) : MAX_SERVICE_TOOL_CALLS;
}

/** Names of the answer limit. Services differ in which one counts. */
const OUTPUT_FIELDS: readonly string[] = [
  ...['max_tokens', 'max_completion_tokens'],
  ...['max_output_tokens', 'max_new_tokens', 'n_predict', 'num_predict'],
];

export function isOutputLimit(field: string): boolean {
  return OUTPUT_FIELDS.includes(field);
}

/** Names of the number of answers. */
const ANSWER_FIELDS = ['n', 'best_of'] as const;

/**
 * The limit that the body has, the largest of several; undefined without one, and for one that is none: some services take
 * -1 or 0 for no limit.
 */
export function outputLimitIn(body: RelayedBody): number | undefined {
  const values = OUTPUT_FIELDS.map((field) => body[field] ?? undefined);
  const limits = values.filter((value) => value !== undefined);
  const isLimit = limits.every((value) => Number.isInteger(value) && Number(value) > 0);
  return isLimit && limits.length > 0 ? Math.max(...limits.map(Number)) : undefined;
}

/** The number of answers that the body asks for. */
export function answersIn(body: RelayedBody): number {
  const counts = ANSWER_FIELDS.map((field) => Math.ceil(Number(body[field])));
  return Math.max(1, ...counts.filter(Number.isFinite));
}

export function textsAtMost(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + maxTextTokens(text) + MESSAGE_TOKENS, FRAME_TOKENS);
}
