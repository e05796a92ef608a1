import type { ChatCall, ChatMessage, RelayedBody } from '../../provider/index.js';
import type { MediaUnits } from '../calls/attempt.js';
import { IMAGE_TOKENS } from '../model-window.js';

/** What a call can use at most. */
export interface WorstCase extends MediaUnits {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a service adds to a message: role, separators, names of fields. */
const MESSAGE_TOKENS = 16;
/** What services tell a model about the use of tools or of a format, beside the definitions. */
const INSTRUCTION_TOKENS = 1_000;
/** Of a request. */
const FRAME_TOKENS = 64;

/**
 * Tokens of a text at most: its bytes. Tokenizers of models work on bytes or fall back to them, so that no token is shorter
 * than one.
 */
export function mostTokens(text: string): number {
  return Buffer.byteLength(text);
}

/** Tokens that the service can read of the call at most. Images count as model-window.ts counts them. */
export function mostInputTokens({ messages, tools, responseFormat }: ChatCall): number {
  const definitions = [
    ...(tools?.length ? [tools] : []),
    ...(responseFormat ? [responseFormat] : []),
  ];
  return (
    FRAME_TOKENS +
    messages.reduce((sum, message) => sum + ofMessage(message), 0) +
    definitions.reduce((sum, one) => sum + mostTokens(JSON.stringify(one)) + INSTRUCTION_TOKENS, 0)
  );
}

function ofMessage(message: ChatMessage): number {
  const { content } = message;
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const called = calls.reduce(
    (sum, call) => sum + mostTokens(call.id + call.name + call.arguments) + MESSAGE_TOKENS,
    MESSAGE_TOKENS,
  );
  if (typeof content === 'string') return called + mostTokens(content);
  return content.reduce(
    (sum, part) =>
      sum + MESSAGE_TOKENS + (part.type === 'text' ? mostTokens(part.text) : IMAGE_TOKENS),
    called,
  );
}

/** The same for a body that is passed on, with all of its fields, also those that are not known here. */
export function mostBodyTokens(body: RelayedBody): number {
  const { tools, functions } = body;
  const instructions = tools || functions ? INSTRUCTION_TOKENS : 0;
  return FRAME_TOKENS + instructions + ofValue(body);
}

function ofValue(value: unknown): number {
  if (typeof value === 'string') return mostTokens(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, one) => sum + MESSAGE_TOKENS + ofValue(one), 0);
  }
  const { type } = value as { readonly type?: unknown };
  if (type === 'image' || type === 'image_url') return IMAGE_TOKENS;
  return Object.entries(value).reduce<number>(
    (sum, [name, one]) => sum + mostTokens(name) + ofValue(one),
    0,
  );
}

/** The fields of both protocols that limit an answer, the newer name first. */
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_tokens'] as const;

/** The limit that the body has; undefined without one. */
export function outputLimitIn(body: RelayedBody): number | undefined {
  const limit = OUTPUT_FIELDS.map((field) => body[field]).find((value) => value !== undefined);
  return typeof limit === 'number' ? limit : undefined;
}

/** How many answers the body asks for. */
export function answersIn({ n }: RelayedBody): number {
  return typeof n === 'number' && n > 1 ? Math.ceil(n) : 1;
}

export function textsAtMost(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + mostTokens(text) + MESSAGE_TOKENS, FRAME_TOKENS);
}
