import { randomUUID } from 'node:crypto';
import type { Behaviour } from './behaviour/behaviour.js';
import type { Exchange } from './http/exchange.js';
import { isObject, type JsonObject, type JsonValue, stringOf } from './http/json.js';
import { errorBody } from './http/protocol.js';
import { replyJson } from './http/reply.js';
import type { Route } from './http/route.js';

const CATEGORIES = ['harassment', 'hate', 'self-harm', 'sexual', 'violence'];

/**
 * Moderations of the OpenAI service (API reference, November 2026): a text that names a category is flagged for it. A list of
 * texts has a result each, a list of parts one together. A model whose name contains `mistral` answers as that service does,
 * with usage and without `flagged`.
 */
export const moderationRoutes: Route[] = [
  { method: 'POST', path: /\/moderations$/, protocol: 'chat-completions', handle: answer },
];

async function answer(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const { input, model } = exchange.body;
  const inputs = textsOf(input);
  if (inputs.length === 0) {
    const problem = 'input is required';
    return replyJson(exchange, 400, errorBody('chat-completions', 400, problem));
  }
  const isMistral = stringOf(model).includes('mistral');
  const results = inputs.map((text) => resultOf(text, isMistral));
  const body: JsonObject = {
    id: `modr-${randomUUID()}`,
    model: stringOf(model),
    results,
    ...(isMistral && { usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 } }),
  };
  await replyJson(exchange, 200, body, behaviour);
}

function textsOf(input: JsonValue | undefined): string[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input)) return [];
  const parts = input.filter(isObject);
  if (parts.length === 0) return input.map(stringOf);
  return [parts.map((part) => stringOf(part['text'])).join(' ')];
}

function resultOf(text: string, isMistral: boolean): JsonObject {
  const named = CATEGORIES.map((name) => [name, text.toLowerCase().includes(name)] as const);
  return {
    ...(!isMistral && { flagged: named.some(([, isNamed]) => isNamed) }),
    categories: Object.fromEntries(named),
    category_scores: Object.fromEntries(named.map(([name, is]) => [name, is ? 0.98 : 0.01])),
    ...(!isMistral && {
      category_applied_input_types: Object.fromEntries(named.map(([name]) => [name, ['text']])),
    }),
  };
}
