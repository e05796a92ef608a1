import { z } from 'zod';
import type { BindToolsInput } from '@langchain/core/language_models/chat_models';
import { StructuredTool } from '@langchain/core/tools';
import type { ToolRunnableConfig } from '@langchain/core/tools';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import type { CallbackManagerForToolRun } from '@langchain/core/callbacks/manager';
import { msg } from '../platform/message/index.js';
import type { ChatCall, ToolDefinition } from '../provider/index.js';
import { UnsupportedOptionError } from './langchain.errors.js';

/** A tool of Plinth for `langchainTool`. */
export interface LangChainToolSpec<Input = unknown> {
  readonly name: string;
  /** Description for the model: purpose and limits. */
  readonly description: string;
  /** An object; LangChain checks the arguments against it before `run`. */
  readonly input: z.ZodType<Input>;
  /** Returns the text for the model. Ends when the signal aborts. Errors are propagated unchanged. */
  run(input: Input, call: LangChainToolCall): Promise<string>;
}

export interface LangChainToolCall {
  /** The id that the model gave the call; undefined when the tool was called by itself. */
  readonly id: string | undefined;
  /** Stops the call. */
  readonly signal: AbortSignal;
}

/**
 * The tool for LangChain and LangGraph. Fails with ToolInputParsingException for arguments that do not fit `input`, and
 * with what `run` throws; nothing is repaired, tried again or turned into an answer.
 */
export function langchainTool<Input>(spec: LangChainToolSpec<Input>): StructuredTool {
  return new SpecifiedTool(spec);
}

class SpecifiedTool<Input> extends StructuredTool<z.ZodType<Input>, Input, Input, string> {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType<Input>;

  static override lc_name(): string {
    return 'PlinthTool';
  }

  constructor(private readonly spec: LangChainToolSpec<Input>) {
    super();
    this.name = spec.name;
    this.description = spec.description;
    this.schema = spec.input;
  }

  protected override _call(
    input: Input,
    _manager?: CallbackManagerForToolRun,
    config?: ToolRunnableConfig,
  ): Promise<string> {
    const signal = config?.signal ?? new AbortController().signal;
    return this.spec.run(input, { id: config?.toolCall?.id, signal });
  }
}

/**
 * The tools for the adapters: LangChain's with a zod or JSON schema, those in the form of chat-completions, and our own.
 * Throws UnsupportedOptionError for any other.
 */
export function toToolDefinitions(tools: readonly BindToolsInput[]): ToolDefinition[] {
  return tools.map((tool) => toToolDefinition(tool as Readonly<Record<string, unknown>>));
}

function toToolDefinition(tool: Readonly<Record<string, unknown>>): ToolDefinition {
  const named = isObject(tool['function']) ? tool['function'] : tool;
  const { name, description = '' } = named;
  const schema = named['schema'] ?? named['parameters'] ?? named['inputSchema'];
  if (typeof name !== 'string' || typeof description !== 'string' || !isObject(schema)) {
    const label = typeof name === 'string' ? name : tool['type'];
    throw new UnsupportedOptionError(
      msg`The tool ${typeof label === 'string' ? label : ''} cannot be offered. Give it a name, a description and the schema of an object.`,
    );
  }
  return { name, description, inputSchema: jsonSchemaOf(schema) };
}

function jsonSchemaOf(schema: object): Readonly<Record<string, unknown>> {
  // Input schema for the model: fields with a default are optional.
  const { $schema: _, ...json } = (
    schema instanceof z.core.$ZodType
      ? z.toJSONSchema(schema, { io: 'input' })
      : toJsonSchema(schema as Parameters<typeof toJsonSchema>[0])
  ) as Readonly<Record<string, unknown>>;
  return json;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * The fields of a call that offers the tools. The name of a tool as the choice offers that tool alone, and the model must
 * call it. Throws UnsupportedOptionError for a choice of another form.
 */
export function toolFields(
  tools: readonly ToolDefinition[],
  choice: unknown,
): Pick<ChatCall, 'tools' | 'toolChoice'> {
  if (tools.length === 0) return {};
  if (choice === undefined || choice === null) return { tools };
  if (choice === 'auto' || choice === 'none') return { tools, toolChoice: choice };
  if (choice === 'any' || choice === 'required') return { tools, toolChoice: 'required' };
  const name =
    isObject(choice) && isObject(choice['function']) ? choice['function']['name'] : choice;
  const chosen = tools.filter((tool) => tool.name === name);
  if (chosen.length > 0) return { tools: chosen, toolChoice: 'required' };
  throw new UnsupportedOptionError(
    msg`tool_choice must be auto, none, any or the name of a tool that is offered.`,
  );
}
