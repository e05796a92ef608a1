import { msg } from '../../platform/message/index.js';
import type { ToolCall } from '../../provider/index.js';
import { ParameterError } from '../answer/door.errors.js';

/** A call of a function that a client sends back. Throws ParameterError for arguments that are no JSON object. */
export function toolCallOf(
  { id, name, arguments: text }: Omit<ToolCall, 'input'>,
  param: string,
): ToolCall {
  try {
    const input: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
      return { id, name, arguments: text, input: input as ToolCall['input'] };
    }
  } catch {
    // Said below.
  }
  throw new ParameterError(param, msg`The arguments of a tool call must be a JSON object.`);
}
