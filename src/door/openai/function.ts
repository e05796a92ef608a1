import { z } from 'zod';
import type { ToolDefinition } from '../../provider/index.js';

/** What a request says about one function. */
export const functionFields = {
  name: z.string().regex(/^[\w-]{1,64}$/, '1 to 64 letters, digits, _ or - are expected'),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
};

export type FunctionFields = z.output<z.ZodObject<typeof functionFields>>;

export function toolOf({ name, description, parameters, strict }: FunctionFields): ToolDefinition {
  return {
    name,
    description: description ?? '',
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(strict === true && { strict }),
  };
}
