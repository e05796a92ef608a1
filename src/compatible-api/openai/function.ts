import { z } from 'zod';
import type { CacheMark, ToolDefinition } from '../../provider/index.js';

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
