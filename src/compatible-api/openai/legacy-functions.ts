import type { ApiRequest } from '../answer/api.request.js';

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
