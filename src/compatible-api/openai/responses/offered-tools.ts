import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ToolCall, ToolDefinition } from '../../../provider/index.js';
import { MAX_TOOLS } from '../../answer/parameters.js';
import { functionFields, toolOf } from '../functions.js';
import type { FunctionFields } from '../functions.js';

// The tools of a request, as functions: no other protocol has custom tools, shells, patches, a search of tools or namespaces.

/** Fields such as `defer_loading` are ignored: all tools are offered at once. */
const functionTool = z.looseObject({ type: z.literal('function'), ...functionFields });

/** A tool whose input is one text, free or restricted by a grammar, such as `apply_patch` of Codex. */
const customTool = z.looseObject({
  type: z.literal('custom'),
  name: functionFields.name,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('text') }),
      z.looseObject({
        type: z.literal('grammar'),
        syntax: z.string(),
        definition: z.string(),
      }),
    ])
    .nullish(),
});

const namespaceTool = z.looseObject({
  type: z.literal('namespace'),
  name: functionFields.name,
  // Ignored, because other protocols have no place for it.
  description: z.string().nullish(),
  tools: z.array(z.discriminatedUnion('type', [functionTool, customTool])).max(MAX_TOOLS),
});

/** Tools of the protocol that the client itself runs. */
const clientTools = [
  z.looseObject({ type: z.literal('local_shell') }),
  z.looseObject({ type: z.literal('shell') }),
  z.looseObject({ type: z.literal('apply_patch') }),
  z.looseObject({
    type: z.literal('tool_search'),
    execution: z.enum(['client', 'server']).nullish(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
] as const;

/** Tools that OpenAI's service runs itself. They are omitted, because a model can answer without them. */
const HOSTED = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'image_generation',
  'code_interpreter',
] as const;

const hostedTool = z.looseObject({ type: z.enum(HOSTED) });

export const tool = z.discriminatedUnion('type', [
  functionTool,
  customTool,
  namespaceTool,
  ...clientTools,
  hostedTool,
]);

export type GivenTool = z.output<typeof tool>;

export function isHosted({ type }: { readonly type: string }): boolean {
  return (HOSTED as readonly string[]).includes(type);
}

/** The type of the item by which a tool is called. */
export type CallType =
  | 'function_call'
  | 'custom_tool_call'
  | 'local_shell_call'
  | 'shell_call'
  | 'apply_patch_call'
  | 'tool_search_call';

/** How the protocol names a tool. */
export interface ToolName {
  readonly name: string;
  readonly namespace?: string | null | undefined;
}

export interface CalledTool extends ToolName {
  readonly type: CallType;
}

/** Maximum length of a tool name at model services. */
const MAX_TOOL_NAME_CHARS = 64;

/** The tools of a request. Tools in namespaces are offered with the namespace as part of their name. */
export class OfferedTools {
  readonly tools: readonly ToolDefinition[];
  /** Parameter paths of the tools. */
  readonly places: readonly string[];
  /** Called tools by the name offered to the model. */
  private readonly named = new Map<string, CalledTool>();

  /** @param loaded Tools that the client has added on the way; those that are there already are passed over. */
  constructor(requestTools: readonly GivenTool[], loaded: readonly GivenTool[] = []) {
    const offered = offeredIn(requestTools);
    const existing = new Set(offered.map(({ called }) => keyOf(called)));
    for (const one of offeredIn(loaded)) {
      if (existing.has(keyOf(one.called)) || offered.length >= MAX_TOOLS) continue;
      existing.add(keyOf(one.called));
      offered.push(one);
    }
    // A tool without a namespace keeps its name even if a namespaced tool precedes it.
    const plainFirst = offered.toSorted(
      (one, other) => Number(!!one.called.namespace) - Number(!!other.called.namespace),
    );
    for (const { called } of plainFirst) this.named.set(this.nameOf(called), called);
    this.tools = offered.map(({ called, fields }) =>
      toolOf({ ...fields, name: this.nameOf(called) }),
    );
    this.places = offered.map(({ place }) => place);
  }

  /** The name by which a model knows the tool: the same for each request, unless another tool has it. */
  nameOf({ namespace, name }: ToolName): string {
    if (!namespace) return name;
    const joined = `${namespace}__${name}`;
    const other = this.named.get(joined);
    const isFree = !other || (other.namespace === namespace && other.name === name);
    if (isFree && joined.length <= MAX_TOOL_NAME_CHARS) return joined;
    const hash = createHash('sha256').update(`${namespace}\0${name}`).digest('hex').slice(0, 8);
    return `${joined.slice(0, MAX_TOOL_NAME_CHARS - hash.length - 1)}_${hash}`;
  }

  /** The tool that a model calls by the name. */
  calledBy(offered: string): CalledTool {
    return this.named.get(offered) ?? { type: 'function_call', name: offered };
  }
}

function keyOf({ namespace, name }: ToolName): string {
  return JSON.stringify([namespace ?? '', name]);
}

interface OfferedTool {
  readonly called: CalledTool;
  readonly fields: FunctionFields;
  /** Path of the parameter. */
  readonly place: string;
}

export function offeredIn(requestTools: readonly GivenTool[]): OfferedTool[] {
  return requestTools.flatMap((one, at): OfferedTool[] => {
    const place = `tools[${at}]`;
    switch (one.type) {
      case 'function':
      case 'custom':
        return [callable(one, place)];
      case 'namespace':
        return one.tools.map((inner, index) =>
          callable(inner, `${place}.tools[${index}]`, one.name),
        );
      case 'local_shell':
        return [ofClient('local_shell_call', LOCAL_SHELL, place)];
      case 'shell':
        return [ofClient('shell_call', SHELL, place)];
      case 'apply_patch':
        return [ofClient('apply_patch_call', APPLY_PATCH, place)];
      case 'tool_search': {
        // A service-side tool search covers deferred tools, which are offered directly.
        if (one.execution !== 'client') return [];
        const { description, parameters } = one;
        return [ofClient('tool_search_call', { ...TOOL_SEARCH, description, parameters }, place)];
      }
      default:
        return [];
    }
  });
}

function callable(
  one: z.output<typeof functionTool> | z.output<typeof customTool>,
  place: string,
  namespace?: string,
): OfferedTool {
  const called = { name: one.name, ...(namespace !== undefined && { namespace }) };
  if (one.type === 'function') {
    const { name, description, parameters, strict } = one;
    const fields = { name, description, parameters, strict };
    return { called: { type: 'function_call', ...called }, fields, place };
  }
  return { called: { type: 'custom_tool_call', ...called }, fields: customFields(one), place };
}

/** The grammar becomes part of the description, the only place where the model can read it. */
function customFields({ name, description, format }: z.output<typeof customTool>): FunctionFields {
  const grammar =
    format?.type === 'grammar'
      ? `The input must follow this grammar (${format.syntax}):\n${format.definition}`
      : '';
  const input = { type: 'string', description: 'The whole input of the tool, as plain text' };
  return {
    name,
    description: [description ?? '', grammar].filter((text) => text !== '').join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input },
      required: ['input'],
      additionalProperties: false,
    },
    strict: undefined,
  };
}

function ofClient(type: CallType, fields: FunctionFields, place: string): OfferedTool {
  return { called: { type, name: fields.name }, fields, place };
}

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };
const COUNT = { type: 'integer' };

/** Parameters of built-in tools as in their call items (API reference of OpenAI, Responses, 2026-11). */
const LOCAL_SHELL: FunctionFields = {
  name: 'local_shell',
  description: 'Runs a command on the machine of the user and answers what it writes.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...TEXTS, description: 'The program and its arguments' },
      working_directory: TEXT,
      timeout_ms: COUNT,
      env: { type: 'object', additionalProperties: TEXT },
    },
    required: ['command'],
  },
  strict: undefined,
};

const SHELL: FunctionFields = {
  name: 'shell',
  description: 'Runs shell commands and answers what each of them writes.',
  parameters: {
    type: 'object',
    properties: { commands: TEXTS, timeout_ms: COUNT, max_output_length: COUNT },
    required: ['commands'],
  },
  strict: undefined,
};

const APPLY_PATCH: FunctionFields = {
  name: 'apply_patch',
  description: 'Creates, changes or deletes one file.',
  parameters: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
      path: TEXT,
      diff: { ...TEXT, description: 'The change as a V4A diff; none for delete_file' },
    },
    required: ['type', 'path'],
  },
  strict: undefined,
};

const TOOL_SEARCH = { name: 'tool_search', strict: undefined };

/** Fields of a call item besides its id and status. */
export type CallFields = Readonly<Record<string, unknown>> & { readonly type: CallType };

/** The id of an item begins with the letters of its type. */
export const CALL_PREFIXES: Readonly<Record<CallType, string>> = {
  function_call: 'fc',
  custom_tool_call: 'ctc',
  local_shell_call: 'lsh',
  shell_call: 'sh',
  apply_patch_call: 'apc',
  tool_search_call: 'tsc',
};

/** Converts a call of the model to the tool's item type. */
export function callFields({ type, ...named }: CalledTool, call: ToolCall): CallFields {
  const { id: call_id, input, arguments: text } = call;
  switch (type) {
    case 'function_call':
      return { type, call_id, ...named, arguments: text };
    case 'custom_tool_call':
      return { type, call_id, ...named, input: inputOf(call) };
    case 'local_shell_call':
      return {
        type,
        call_id,
        action: { command: [], env: {}, ...input, type: 'exec' },
      };
    case 'shell_call':
      return {
        type,
        call_id,
        action: { commands: [], timeout_ms: null, max_output_length: null, ...input },
      };
    case 'apply_patch_call':
      return { type, call_id, operation: input };
    case 'tool_search_call':
      return { type, call_id, execution: 'client', arguments: input };
  }
}

/** The input text for a custom tool. Some models omit the surrounding object or rename its field. */
function inputOf({ input, arguments: text, invalid }: ToolCall): string {
  if (invalid) return text;
  const [only, ...more] = Object.values(input);
  const value = input['input'] ?? (more.length === 0 ? only : undefined);
  return typeof value === 'string' ? value : text;
}

/** Converts a call item from the client back to a call with the arguments that the model wrote. */
export function argumentsOf(item: CallFields): string {
  switch (item.type) {
    case 'function_call':
      return typeof item['arguments'] === 'string' ? item['arguments'] : '';
    case 'custom_tool_call':
      return JSON.stringify({ input: item['input'] });
    case 'local_shell_call': {
      const { type: _, ...action } = recordOf(item['action']);
      return JSON.stringify(action);
    }
    case 'shell_call':
      return JSON.stringify(recordOf(item['action']));
    case 'apply_patch_call':
      return JSON.stringify(recordOf(item['operation']));
    case 'tool_search_call':
      return JSON.stringify(recordOf(item['arguments']));
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** The tool that an item of a call names. */
export function calledIn(item: CallFields): ToolName {
  switch (item.type) {
    case 'local_shell_call':
      return LOCAL_SHELL;
    case 'shell_call':
      return SHELL;
    case 'apply_patch_call':
      return APPLY_PATCH;
    case 'tool_search_call':
      return TOOL_SEARCH;
    default: {
      const { name, namespace } = item;
      return { name: String(name), namespace: typeof namespace === 'string' ? namespace : null };
    }
  }
}
