import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { generationIn } from '../../../provider/index.js';
import type { RequestedGeneration } from '../../../provider/index.js';
import { ParameterError } from '../../answer/api.errors.js';
import type { TranslatedCall } from '../../answer/api.request.js';
import { effort, effortOf, modelName, MAX_TOOLS, parameters } from '../../answer/parameters.js';
import { RESPONSE_HINTS, withoutHints } from '../../answer/hints.js';
import type { IgnoredParameters } from '../../answer/answer.js';
import { offeredTools } from '../../answer/tool-choice.js';
import type { ToolChoice } from '../../answer/tool-choice.js';
import { item, MAX_ITEMS, messagesOf, readItems, withTypes } from './input-items.js';
import { isHosted, offeredIn, tool } from './offered-tools.js';
import type { OfferedTools } from './offered-tools.js';
import type { JsonObject } from './stored-response.entity.js';

// Requests of the Responses protocol of OpenAI, in the words of the adapters. Does no I/O.

/** Supported values of `include`. */
export const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

const tools = z
  .array(tool)
  .max(MAX_TOOLS)
  .refine(
    (requestTools) => offeredIn(requestTools).length <= MAX_TOOLS,
    `at most ${MAX_TOOLS} functions are expected`,
  );

const namedTool = z.looseObject({
  type: z.enum(['function', 'custom']),
  name: z.string(),
});
/** Tools of the protocol are named by their type. */
const typedTool = z.looseObject({ type: z.string(), name: z.undefined() });
const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  namedTool,
  z.looseObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z
      .array(z.union([namedTool, typedTool]))
      .min(1)
      .max(MAX_TOOLS),
  }),
  typedTool,
]);

const format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
]);

const request = z.strictObject({
  model: modelName,
  input: z.union([z.string(), z.array(item).max(MAX_ITEMS)]).default([]),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).optional(),
  background: z.boolean().optional(),
  include: z.array(z.string()).max(100).optional(),
  store: z.boolean().optional(),
  stream: z.boolean().optional(),
  // Padding against side-channel attacks is not supported.
  stream_options: z.looseObject({}).optional(),
  tools: tools.optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  text: z.looseObject({ format: format.nullish() }).optional(),
  reasoning: z
    .looseObject({
      effort: effort.nullish(),
      // Any value requests a summary of the thinking; it is shown in full.
      summary: z.string().nullish(),
    })
    .optional(),
  max_output_tokens: z.number().int().min(1).max(1_000_000).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
});

export type ResponseParameters = z.output<typeof request>;

/** Validates the parameters. Throws ParameterError, and UnsupportedParameterError for unsupported ones. noteHints reports ignored hints. */
export function readParameters(body: unknown): ResponseParameters {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return parameters(request, body);
  }
  const wanted = Object.entries(body)
    .filter(([name]) => !Object.hasOwn(RESPONSE_HINTS, name))
    .map(([name, value]): [string, unknown] => [name, name === 'input' ? withTypes(value) : value]);
  return parameters(request, Object.fromEntries(wanted));
}

/** Notes the parameters that a translation ignores. Throws UnsupportedParameterError if the key is strict. */
export function noteHints(
  body: Readonly<Record<string, unknown>>,
  params: ResponseParameters,
  ignored: IgnoredParameters,
): void {
  withoutHints(body, RESPONSE_HINTS, ignored);
  for (const [at, one] of (params.tools ?? []).entries()) {
    if (isHosted(one)) ignored.add(`tools[${at}]`);
  }
  for (const [at, one] of (params.include ?? []).entries()) {
    if (one !== ENCRYPTED_REASONING) ignored.add(`include[${at}]`);
  }
  noteFields('text', params.text, TEXT_FIELDS, ignored);
  noteFields('reasoning', params.reasoning, REASONING_FIELDS, ignored);
  if (typeof params.input === 'string') return;
  for (const [at, one] of params.input.entries()) {
    if (one.type === 'unread') ignored.add(`input[${at}]`);
  }
}

/** Values at which a field has no effect; undefined if every value is supported. */
type Fields = Readonly<Record<string, readonly unknown[] | undefined>>;

const TEXT_FIELDS: Fields = { format: undefined, verbosity: ['medium'] };
const REASONING_FIELDS: Fields = {
  effort: undefined,
  summary: undefined,
  generate_summary: undefined,
};

function noteFields(
  name: string,
  record: Readonly<Record<string, unknown>> | undefined,
  fields: Fields,
  ignored: IgnoredParameters,
): void {
  for (const [field, value] of Object.entries(record ?? {})) {
    const isHonoured = Object.hasOwn(fields, field) && (fields[field]?.includes(value) ?? true);
    if (value !== null && !isHonoured) ignored.add(`${name}.${field}`);
  }
}

/** Translates the request with the preceding items. */
export function translate(
  params: ResponseParameters,
  earlier: readonly JsonObject[],
  requestItems: readonly JsonObject[],
  offered: OfferedTools,
): TranslatedCall {
  const { instructions = '' } = params;
  const messages = messagesOf(readItems([...earlier, ...requestItems]), earlier.length, offered);
  if (messages.length === 0) {
    throw new ParameterError('input', msg`The parameter ${'input'} is required.`);
  }
  const chosen = params.text?.format;
  return {
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system', content: instructions } as const]),
      ...messages,
    ],
    ...offeredTools(offered.tools, chosenIn(params.tool_choice)),
    ...(params.parallel_tool_calls === false && { parallelToolCalls: false }),
    ...generationIn({
      temperature: params.temperature,
      topP: params.top_p,
      maxTokens: params.max_output_tokens,
      topK: undefined,
      stop: undefined,
      seed: undefined,
      frequencyPenalty: undefined,
      presencePenalty: undefined,
    } satisfies RequestedGeneration),
    ...effortOf(params.reasoning?.effort),
    format: formatOf(chosen),
  };
}

function chosenIn(choice: ResponseParameters['tool_choice']): ToolChoice | undefined {
  if (typeof choice !== 'object') return choice;
  if ('mode' in choice && choice.type === 'allowed_tools') {
    const { mode, tools: named } = choice as { mode: 'auto' | 'required'; tools: ChosenTool[] };
    const names = named.flatMap((one, at): [string, string][] =>
      isHosted(one) ? [] : [nameIn(one, `tool_choice.tools[${at}]`)],
    );
    return { mode, names };
  }
  return { mode: 'required', names: [nameIn(choice, 'tool_choice')] };
}

interface ChosenTool {
  readonly type: string;
  readonly name?: string | undefined;
}

function nameIn({ type, name }: ChosenTool, param: string): [param: string, name: string] {
  return name === undefined ? [`${param}.type`, type] : [`${param}.name`, name];
}

function formatOf(chosen: z.output<typeof format> | null | undefined): TranslatedCall['format'] {
  switch (chosen?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json_schema', schema: { type: 'object' } };
    case 'json_schema':
      return { type: 'json_schema', name: chosen.name, schema: chosen.schema };
  }
}
