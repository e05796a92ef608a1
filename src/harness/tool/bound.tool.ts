import { z } from 'zod';
import type { PolicySubject } from '../protocol/policy.js';
import type { EffectClass } from '../protocol/effect.state.js';
import { ToolError } from '../fault/tool.error.js';
import type {
  FilePlan,
  FileTool,
  HarnessTool,
  ReadTool,
  RunTool,
  RunToolDecision,
  ShellOutcome,
  ShellStarted,
  ShellTool,
  ToolContext,
  ToolName,
  ToolOutcome,
} from './tool.js';

/** A call of a tool whose arguments have been read: what can be done with it, by its class. */
export type BoundCall =
  | {
      readonly effectClass: 'READ';
      readonly title: string;
      subject(context: ToolContext): Promise<PolicySubject>;
      run(context: ToolContext): Promise<ToolOutcome>;
    }
  | {
      readonly effectClass: 'FILE';
      readonly title: string;
      plan(context: ToolContext): Promise<FilePlan>;
    }
  | {
      readonly effectClass: 'SHELL';
      readonly title: string;
      readonly command: string;
      run(context: ToolContext, started: ShellStarted): Promise<ShellOutcome>;
    }
  | {
      readonly effectClass: 'META';
      readonly title: string;
      decide(context: ToolContext): Promise<RunToolDecision>;
    };

/** A tool of whatever input: the type of the input stays inside. */
export interface BoundTool {
  readonly name: ToolName;
  readonly description: string;
  readonly effectClass: EffectClass;
  /** JSON Schema of the arguments, for the model. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Reads arguments strictly; ToolError INVALID_ARGUMENTS names every problem. */
  bind(input: unknown): BoundCall;
}

export function boundTool<Input>(tool: HarnessTool<Input>): BoundTool {
  const { name, description, effectClass } = tool;
  const inputSchema = z.toJSONSchema(tool.input, { io: 'input' });
  delete inputSchema.$schema;
  return {
    name,
    description,
    effectClass,
    inputSchema,
    bind: (given) => {
      const input = readInput(tool, given);
      return { title: tool.title(input), ...boundCall(tool, input) };
    },
  };
}

function readInput<Input>(tool: HarnessTool<Input>, given: unknown): Input {
  const result = tool.input.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The arguments of ${tool.name} are not valid. ${problems.join('; ')}. Nothing was done; call it again with valid arguments.`,
  );
}

type UntitledCall = BoundCall extends infer Call
  ? Call extends BoundCall
    ? Omit<Call, 'title'>
    : never
  : never;

function boundCall<Input>(tool: HarnessTool<Input>, input: Input): UntitledCall {
  switch (tool.effectClass) {
    case 'READ':
      return readCall(tool, input);
    case 'FILE':
      return fileCall(tool, input);
    case 'SHELL':
      return shellCall(tool, input);
    case 'META':
      return runCall(tool, input);
  }
}

function readCall<Input>(tool: ReadTool<Input>, input: Input): UntitledCall {
  return {
    effectClass: 'READ',
    subject: (context: ToolContext) => tool.subject(input, context),
    run: (context: ToolContext) => tool.run(input, context),
  };
}

function fileCall<Input>(tool: FileTool<Input>, input: Input): UntitledCall {
  return { effectClass: 'FILE', plan: (context: ToolContext) => tool.plan(input, context) };
}

function shellCall<Input>(tool: ShellTool<Input>, input: Input): UntitledCall {
  return {
    effectClass: 'SHELL',
    command: tool.command(input),
    run: (context: ToolContext, started: ShellStarted) => tool.run(input, context, started),
  };
}

function runCall<Input>(tool: RunTool<Input>, input: Input): UntitledCall {
  return { effectClass: 'META', decide: (context: ToolContext) => tool.decide(input, context) };
}
