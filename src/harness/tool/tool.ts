import type { z } from 'zod';
import { ToolError } from '../fault/tool.error.js';
import type { ToolErrorCode } from '../fault/tool.error.js';
import type { Plan } from '../protocol/plan.js';
import type { PolicySubject } from '../protocol/policy.js';
import { visibleLine } from '../protocol/values.js';
import type { OutputCollector } from '../sandbox/sandbox.run.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { RunSkills } from '../store/message.repository.js';
import type { HarnessEffect, HarnessRun } from '../store/harness.entity.js';
import type {
  FileOperation,
  PlannedFile,
  SeenFile,
  SeenFiles,
} from '../workspace/file-operation.js';
import type { Workspace } from '../workspace/workspace.js';

export interface ToolContext {
  readonly run: HarnessRun;
  readonly workspace: Workspace;
  readonly seen: SeenFiles;
  readonly skills: RunSkills;
  readonly toolCallId: string;
  /** Aborts when the run is cancelled, its lease is lost or the process stops. */
  readonly signal: AbortSignal;
  /** Given the output of a command so far, whenever there is more. */
  readonly onOutput?: (output: OutputCollector) => void;
}

/** Answer of a tool. */
export interface ToolOutcome {
  /** Text for the model: at most 48 KiB; it says where it was cut and how to continue. */
  readonly content: string;
  /** One line for people: "read 120 lines of src/a.ts". */
  readonly summary: string;
  readonly truncated?: boolean;
  /** The whole output where the model got a part; kept as an artifact. */
  readonly whole?: Buffer;
  readonly seen?: readonly SeenFile[];
  readonly events?: readonly EventDraft[];
  /** Set when the call was executed and failed: a command with another exit code than 0. */
  readonly failure?: ToolErrorCode;
}

/** Facts that decide which tools a run is offered. */
export interface OfferFacts extends Pick<
  HarnessRun,
  'permissionMode' | 'approvalPolicy' | 'phase'
> {
  readonly sandboxAvailable: boolean;
  readonly mayAsk: boolean;
  readonly hasSkills: boolean;
}

interface ToolBase<Input> {
  /** The name on the wire, as models and clients know it. */
  readonly name: string;
  /** Description for the model: what the tool does, its limits, when to use another one. */
  readonly description: string;
  /** A strict object: an unknown property is an error. */
  readonly input: z.ZodType<Input>;
  /** One line for people, from what the call would do, not from what the model says of it. Not cut. Never fails. */
  title(input: Input): string;
  /** The model's own description of the call's purpose. It is shown as the model's words. */
  modelDescription?(input: Input): string | undefined;
  /** Reason why the tool is not offered although its effect class allows it; undefined when it is offered. */
  refusal?(facts: OfferFacts): string | undefined;
}

/** Reads, and changes nothing: it is run again after a crash. */
export interface ReadTool<Input = unknown> extends ToolBase<Input> {
  readonly effectClass: 'READ';
  /** Policy subject of the call, before anything is read. Fails with ToolError. */
  subject(input: Input, context: ToolContext): Promise<PolicySubject>;
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/**
 * Changes files. `plan` verifies everything and answers every change it would make, so that policy, approval,
 * write-ahead record, application, reconciliation and undo are the same for all of them; it writes nothing.
 */
export interface FileTool<Input = unknown> extends ToolBase<Input> {
  readonly effectClass: 'FILE';
  plan(input: Input, context: ToolContext): Promise<FilePlan>;
}

export interface FilePlan {
  /** Operations in the order of application; a path occurs once. Never empty. */
  readonly files: readonly PlannedFile[];
  /** Text for the model once all changes are applied. */
  readonly content: string;
  readonly summary: string;
}

/** Runs a command in the sandbox. */
export interface ShellTool<Input = unknown> extends ToolBase<Input> {
  readonly effectClass: 'SHELL';
  /** The exact command, which a grant is bound to. */
  command(input: Input): string;
  /**
   * Runs it and answers output and exit code; the operations are the files that it has changed, as far as they can be
   * seen. `started` is called with the digest of the snapshot before the command begins, and awaited. ToolError, or the
   * signal's reason, when the command was not started; after any other error its effects are unknown.
   */
  run(input: Input, context: ToolContext, started: ShellStarted): Promise<ShellOutcome>;
}

/** Records that the command begins; the digest is of the stored snapshot, undefined where none was taken. */
export type ShellStarted = (snapshotSha256: string | undefined) => Promise<void>;

export interface ShellOutcome extends ToolOutcome {
  readonly exitCode: number | null;
  /** Empty when they could not be determined; `content` says so then. */
  readonly changes: readonly FileOperation[];
}

/** Changes the run itself: its plan, its question, its skills. Everything it does is in the outcome's transaction. */
export interface RunTool<Input = unknown> extends ToolBase<Input> {
  readonly effectClass: 'META';
  /** Checks the input against the run and says what is to be done. Fails with ToolError; changes nothing itself. */
  decide(input: Input, context: ToolContext): Promise<RunToolDecision>;
}

export type RunToolDecision =
  /** The plan is replaced, and reviewed where its state says so. */
  | { readonly kind: 'propose-plan'; readonly plan: Plan; readonly summary: string }
  | { readonly kind: 'update-plan'; readonly plan: Plan; readonly outcome: ToolOutcome }
  /** The run parks until the user answers. */
  | { readonly kind: 'ask'; readonly question: Question };

export interface Question {
  readonly text: string;
  readonly options: readonly string[];
}

export type HarnessTool<Input = unknown> =
  | ReadTool<Input>
  | FileTool<Input>
  | ShellTool<Input>
  | RunTool<Input>;

/** A call whose arguments are valid. */
export interface BoundCall {
  readonly tool: HarnessTool;
  /** Input as the tool's schema parsed it. */
  readonly input: unknown;
  readonly title: string;
  /** The model's description of the call, on one line. */
  readonly modelDescription: string | undefined;
}

/**
 * The arguments of a call exactly as the model wrote them. The stored `input` is what jsonb can hold: it has other
 * characters in the place of NUL and of half a character. ToolError INVALID_ARGUMENTS when they are not JSON.
 */
export function givenArguments({
  toolName,
  argumentsJson,
}: Pick<HarnessEffect, 'toolName' | 'argumentsJson'>): unknown {
  try {
    return JSON.parse(argumentsJson) as unknown;
  } catch {
    throw invalidArguments(toolName, 'They are not JSON. Send one JSON object.');
  }
}

/** Parses arguments strictly; ToolError INVALID_ARGUMENTS names every problem. */
export function boundCall(tool: HarnessTool, rawInput: unknown): BoundCall {
  const result = tool.input.safeParse(rawInput);
  if (result.success) {
    const description = tool.modelDescription?.(result.data);
    return {
      tool,
      input: result.data,
      title: visibleLine(tool.title(result.data)),
      modelDescription: description === undefined ? undefined : visibleLine(description),
    };
  }
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  throw invalidArguments(tool.name, `${problems.join('; ')}.`);
}

function invalidArguments(toolName: string, why: string): ToolError {
  return new ToolError(
    'INVALID_ARGUMENTS',
    `The arguments of ${toolName} are not valid. ${why} Nothing was done; call it again with valid arguments.`,
  );
}
