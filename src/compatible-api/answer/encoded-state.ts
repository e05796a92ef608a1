import { randomUUID } from 'node:crypto';
import type { ProviderState } from '../../provider/index.js';

/** An id in the form of the services: the prefix, an underscore and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** Prefix that marks texts made by Plinth and their version. */
const PREFIX = 'plinth1.';

/** Longer texts are ignored. States of services take a few kilobytes per tool call. */
export const MAX_ENCODED_STATE_CHARS = 4_000_000;

/** Maximum nesting of a state; states have only a few levels. */
const MAX_DEPTH = 64;
const MAX_ORIGIN_CHARS = 1_000;

/**
 * The state as an opaque text, for clients that keep the conversation and send it back: `plinth1.` and base64url. It is not signed:
 * a client that changes it changes only what its own call sends, and the protocol that reads it validates it.
 */
export function encodeState({ origin, data }: ProviderState): string {
  return PREFIX + Buffer.from(JSON.stringify({ origin, data })).toString('base64url');
}

/**
 * The state in a text of `encodeState`. Undefined for any other text, such as the signature of another service, and for one of more
 * than MAX_ENCODED_STATE_CHARS. Never throws.
 */
export function decodeState(text: string): ProviderState | undefined {
  if (!text.startsWith(PREFIX) || text.length > MAX_ENCODED_STATE_CHARS) return undefined;
  const read = parsed(Buffer.from(text.slice(PREFIX.length), 'base64url').toString());
  if (!isObject(read) || isTooDeep(read)) return undefined;
  const { origin, data } = read;
  if (typeof origin !== 'string' || origin === '' || origin.length > MAX_ORIGIN_CHARS) {
    return undefined;
  }
  return isObject(data) ? { origin, data } : undefined;
}

/** Whether Plinth made the text. Model services refuse such texts. */
export function isEncodedState(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(PREFIX);
}

/** The first state among the texts. */
export function firstState(
  texts: readonly (string | null | undefined)[],
): ProviderState | undefined {
  for (const text of texts) {
    const state = decodeState(text ?? '');
    if (state) return state;
  }
  return undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Iterative, because a malicious text could overflow the stack of a recursion. */
function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((one): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}
