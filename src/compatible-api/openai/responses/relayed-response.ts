import type { ApiRequest } from '../../answer/api.request.js';
import { isEncodedState } from '../../answer/encoded-state.js';
import { isCallType } from './input-items.js';
import { ENCRYPTED_REASONING } from './responses.request.js';
import type { JsonObject } from './stored-response.entity.js';

// Requests and answers of the Responses protocol that are passed on to a service of the same protocol. Does no I/O.

/** Parameters that Plinth handles itself and does not relay. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  'previous_response_id',
  'conversation',
  'background',
]);

/**
 * The body for the service, where nothing is stored: what Plinth has stored stands in the input. `stored` are the items of the whole
 * conversation where some of them are not in the request itself.
 */
export function relayedBody(
  clientBody: ApiRequest['body'],
  stored: readonly JsonObject[] | undefined,
): ApiRequest['body'] {
  const { include, input } = clientBody;
  const items: unknown = stored?.map(withoutOwnId) ?? input;
  const included = Array.isArray(include) ? (include as unknown[]) : [];
  // The next turn needs the encrypted reasoning, because the service does not store it.
  const isThinking = clientBody['reasoning'] !== undefined && clientBody['store'] !== false;
  const isMissing = isThinking && !included.includes(ENCRYPTED_REASONING);
  return {
    ...Object.fromEntries(Object.entries(clientBody).filter(([name]) => !OWN_PARAMETERS.has(name))),
    input: Array.isArray(items) ? items.filter(isReadable) : items,
    store: false,
    ...(isMissing && { include: [...included, ENCRYPTED_REASONING] }),
  };
}

/** Parameters of POST /responses/input_tokens of OpenAI (API reference, November 2026). */
const COUNTED_PARAMETERS: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['text', 'reasoning', 'truncation'],
]);

/** The relayed body of a request that is only counted. */
export function countedBody(relayed: ApiRequest['body']): ApiRequest['body'] {
  const counted = Object.entries(relayed).filter(([name]) => COUNTED_PARAMETERS.has(name));
  return Object.fromEntries(counted);
}

/** Services refuse reasoning that they have not encrypted themselves. */
function isReadable(item: unknown): boolean {
  const { type, encrypted_content: encrypted } = (item ?? {}) as JsonObject;
  return type !== 'reasoning' || (typeof encrypted === 'string' && !isEncodedState(encrypted));
}

/** Removes ids created by Plinth, which the service does not know. */
function withoutOwnId(item: JsonObject): JsonObject {
  const { id: _, status: __, ...others } = item;
  const { type } = item;
  const isPlain =
    type === 'message' || isCallType(type) || (typeof type === 'string' && /_output$/.test(type));
  return isPlain ? others : item;
}

/** The finished response in a body or event stream of a service; undefined if there is none. */
export function finishedResponse(text: string): JsonObject | undefined {
  if (text.startsWith('{')) return objectIn(text);
  for (const line of text.split('\n')) {
    if (!line.startsWith('data:') || !/"response\.(completed|incomplete)"/.test(line)) continue;
    const event = objectIn(line.slice('data:'.length));
    const type = event?.['type'];
    if (type !== 'response.completed' && type !== 'response.incomplete') continue;
    const response = event?.['response'];
    if (typeof response === 'object' && response !== null) return response as JsonObject;
  }
  return undefined;
}

/** Parses a JSON object; undefined for any other text. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
