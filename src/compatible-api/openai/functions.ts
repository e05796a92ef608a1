import { z } from 'zod';
import type { CacheMark, ToolDefinition } from '../../provider/index.js';
import type { ApiRequest } from '../answer/api.request.js';

/** Definition of one function in a request. */
export const functionFields = {
  name: z.string().regex(/^[\w-]{1,64}$/, '1 to 64 letters, digits, _ or - are expected'),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
};

/** Cache breakpoint of the messages protocol: a hint that other protocols do not need. */
export const cacheFields = {
  cache_control: z.strictObject({ type: z.string(), ttl: z.string().optional() }).nullish(),
};

/** The cache breakpoint of a part, if any. */
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

type Fields = Readonly<Record<string, unknown>>;

// Functions as chat completions named them before tools (API reference of OpenAI, deprecated: functions, function_call, role function).

/** Whether an answer has function_call in place of tool_calls. */
export function isLegacy({ functions, tools }: ApiRequest['body']): boolean {
  return Array.isArray(functions) && !tools;
}

/** The request with its functions, their calls and results as tools. */
export function withTools(body: ApiRequest['body']): ApiRequest['body'] {
  const { functions, function_call: choice, messages, ...others } = body;
  return {
    ...others,
    messages: Array.isArray(messages) ? toolMessages(messages as readonly Fields[]) : messages,
    ...(isLegacy(body) && {
      tools: (functions as unknown[]).map((one) => ({ type: 'function', function: one })),
      parallel_tool_calls: false,
      ...(choice !== undefined && choice !== null && { tool_choice: choiceOf(choice) }),
    }),
  };
}

function choiceOf(choice: unknown): unknown {
  return typeof choice === 'object' ? { type: 'function', function: choice } : choice;
}

/** Results have the id of the last call of their function. */
function toolMessages(messages: readonly Fields[]): readonly Fields[] {
  const ids = new Map<unknown, string>();
  return messages.map((one, at) => {
    const { function_call: call, ...message } = one;
    if (one['role'] === 'function') {
      const { name, content } = one;
      return {
        role: 'tool',
        tool_call_id: ids.get(name) ?? String(name),
        name,
        content: content ?? '',
      };
    }
    if (typeof call !== 'object' || call === null) return one;
    const id = `call_${at}`;
    ids.set((call as Fields)['name'], id);
    return { ...message, tool_calls: [{ id, type: 'function', function: call }] };
  });
}
