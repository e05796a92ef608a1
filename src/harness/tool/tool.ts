import type { z } from 'zod';
import { ToolError } from '../protocol/tool-call.js';
import type { ToolErrorCode, PlannedFile, SeenFiles } from '../protocol/tool-call.js';
import type { Plan, PolicySubject } from '../protocol/policy.js';
import { visibleLine } from '../protocol/values.js';
import type { OutputCollector } from '../sandbox/sandbox.run.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { RunSkills } from '../store/message.repository.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { Workspace } from '../workspace/workspace.js';
import type { FileOperation, RunEffect, SeenFile } from '../../effect/index.js';

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
}: Pick<RunEffect, 'toolName' | 'argumentsJson'>): unknown {
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

/** Line end; only the last line of a text may have none. */
export type LineEnd = '' | '\n' | '\r\n';

/** The lines of a text, which only `\n` and `\r\n` end. Takes four bytes for each, beside the text. */
export class TextLines implements Iterable<string> {
  readonly length: number;
  /** Start of each line, and the end of the last one. */
  private readonly starts: Uint32Array;

  constructor(private readonly text: string) {
    let length = text === '' || text.endsWith('\n') ? 0 : 1;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) length += 1;
    this.length = length;
    this.starts = new Uint32Array(length + 1);
    for (let index = 0; index < length; index += 1) {
      const end = text.indexOf('\n', this.start(index));
      this.starts[index + 1] = end < 0 ? text.length : end + 1;
    }
  }

  /** Each without what ends it. */
  *[Symbol.iterator](): Generator<string, undefined> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index);
  }

  /** The line without what ends it; empty behind the last one. */
  at(index: number): string {
    return this.text.slice(this.start(index), this.start(index + 1) - this.end(index).length);
  }

  /** Line end of the line; empty before the first and behind the last one. */
  end(index: number): LineEnd {
    const next = this.starts[index + 1];
    if (index < 0 || next === undefined || this.text[next - 1] !== '\n') return '';
    return next - 2 >= this.start(index) && this.text[next - 2] === '\r' ? '\r\n' : '\n';
  }

  /** Start of the line in the text; the text's length behind the last one. */
  start(index: number): number {
    return this.starts[index] ?? this.text.length;
  }

  /** The lines from the one to before the other, without what ends them. */
  slice(from: number, to = this.length): string[] {
    const lines: string[] = [];
    for (let index = from; index < Math.min(to, this.length); index += 1)
      lines.push(this.at(index));
    return lines;
  }

  /** The part of the text from the one line to before the other. */
  part(from: number, to = this.length): string {
    return this.text.slice(this.start(from), this.start(to));
  }
}

/** Lines that occur more often say nothing about a place, and following each of them would take long. */
const MAX_EQUAL_LINES = 50;

/** Indexes at which a line occurs; empty when it occurs more than 50 times. */
export type Places = (line: string) => readonly number[];

/** Finds the wanted lines; the result knows no others. */
export function placesOf(lines: Iterable<string>, wanted: readonly string[]): Places {
  const places = new Map<string, number[]>(wanted.map((line) => [line, []]));
  let at = 0;
  for (const line of lines) {
    const indexes = places.get(line);
    if (indexes && indexes.length <= MAX_EQUAL_LINES) indexes.push(at);
    at += 1;
  }
  return (line) => {
    const indexes = places.get(line) ?? [];
    return indexes.length > MAX_EQUAL_LINES ? [] : indexes;
  };
}

const KIB = 1024;

/** Maximum size of an answer: a little less than the limit of a tool's result. */
export const SHOWN_BYTES = 46 * KIB;

/** A size for readers. */
export function sizeOf(bytes: number): string {
  if (bytes < KIB) return `${bytes} bytes`;
  if (bytes < KIB * KIB) return `${(bytes / KIB).toFixed(1)} KiB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

/** A path on one line; quoted where a name holds a line break or another control character. */
export function pathText(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path;
}

/** A path or pattern that was asked for, short, for people. */
export function askedFor(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/\p{Cc}/gu, '');
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

/** "1 file", "2 files", "2 matches", "2 entries". */
export function counted(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  if (noun.endsWith('y')) return `${count} ${noun.slice(0, -1)}ies`;
  return `${count} ${noun}${noun.endsWith('ch') ? 'es' : 's'}`;
}

/** The first characters of one line, and how many are missing. */
export function clipped(line: string, characters: number): string {
  if (line.length <= characters) return line;
  return `${line.slice(0, characters).toWellFormed()}… [${line.length - characters} more characters]`;
}

/** Lines of an answer, up to what it may hold. */
export class ShownLines {
  private readonly lines: string[] = [];
  private bytes = 0;

  constructor(private readonly limit = SHOWN_BYTES) {}

  /** False when the line did not fit; nothing is added then. */
  add(...lines: readonly string[]): boolean {
    const size = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    if (this.bytes + size > this.limit) return false;
    this.bytes += size;
    this.lines.push(...lines);
    return true;
  }

  /** The lines and, after an empty one, a remark. */
  text(remark?: string): string {
    return [...this.lines, ...(remark === undefined ? [] : ['', remark])]
      .join('\n')
      .replace(/^\n+/, '');
  }
}

/** The first lines, within a maximum number and the size of an answer; `more` is the remark when some are omitted. */
export function shownList(
  lines: readonly string[],
  most: number,
  more: (count: number) => string,
): { readonly content: string; readonly count: number; readonly isCut: boolean } {
  const shownLines = new ShownLines();
  const listed = lines.slice(0, most);
  const end = listed.findIndex((line) => !shownLines.add(line));
  const count = end < 0 ? listed.length : end;
  const isCut = count < lines.length;
  return { content: shownLines.text(isCut ? more(count) : undefined), count, isCut };
}

/** A signal that aborts with another one, or after a time. */
export class TimeLimit {
  readonly signal: AbortSignal;
  private readonly timeout: AbortSignal;

  constructor(
    private readonly outer: AbortSignal,
    private readonly seconds: number,
  ) {
    this.timeout = AbortSignal.timeout(seconds * 1_000);
    this.signal = AbortSignal.any([outer, this.timeout]);
  }

  /** Whether only the time is over, so that what was found so far may be reported. */
  get isOver(): boolean {
    return this.timeout.aborted && !this.outer.aborted;
  }

  /** Fails with the outer signal's reason, or with TIMED_OUT, once it is over. */
  check(): void {
    this.outer.throwIfAborted();
    if (this.timeout.aborted) {
      throw new ToolError(
        'TIMED_OUT',
        `It took longer than ${this.seconds} seconds. Look in a smaller folder.`,
      );
    }
  }
}
