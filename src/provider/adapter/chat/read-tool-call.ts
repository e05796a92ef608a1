import type { ToolCall } from './chat.adapter.js';

/** A tool call with its arguments parsed strictly. Never throws: a call whose arguments are not a JSON object is marked as invalid. */
export function readToolCall(call: Pick<ToolCall, 'id' | 'name' | 'arguments'>): ToolCall {
  const { id, name, arguments: text } = call;
  const input = objectIn(text.trim() === '' ? '{}' : text);
  return input
    ? { id, name, arguments: text, input }
    : { id, name, arguments: text, input: {}, invalid: true };
}

function objectIn(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
