import { z } from 'zod';
import { msg } from '../../platform/message/index.js';
import type { CacheMark, ToolCall, ToolDefinition } from '../../provider/index.js';
import { ParameterError } from '../answer/door.errors.js';

/** What a request says about one function. */
export const functionFields = {
  name: z.string().regex(/^[\w-]{1,64}$/, '1 to 64 letters, digits, _ or - are expected'),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
};

/** Where a service of the messages protocol may keep the prompt that it has read: a hint that other protocols do not need. */
export const cacheFields = {
  cache_control: z.strictObject({ type: z.string(), ttl: z.string().optional() }).nullish(),
};

/** The mark of a part, if it has one. */
export function cacheOf({
  cache_control: cache,
}: {
  readonly cache_control?: CacheMark | null | undefined;
}): { readonly cache?: CacheMark } {
  return cache ? { cache } : {};
}

export type FunctionFields = z.output<z.ZodObject<typeof functionFields>>;

export function toolOf({ name, description, parameters, strict }: FunctionFields): ToolDefinition {
  return {
    name,
    description: description ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(strict === true && { strict }),
  };
}

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
