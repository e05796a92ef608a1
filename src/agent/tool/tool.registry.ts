import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Provider, Type } from '@nestjs/common';
import { z } from 'zod';
import { unavailableError } from '../../platform/database/index.js';
import { unlessAborted } from '../../platform/dependency/index.js';
import { DomainError } from '../../platform/error/index.js';
import { ATTRIBUTE, OPERATION, recordsContent, traced } from '../../platform/tracing/index.js';
import { estimatingCounter, fits, longestBeginning, sizeOf } from '../../model/index.js';
import type { ToolDefinition } from '../../provider/index.js';
import { MAX_CONTENT_CHARS, ToolFailure } from './agent-tool.js';
import type {
  AgentTool,
  AnswerRoom,
  ToolContext,
  ToolOutcome,
  ToolResult,
  ToolTurn,
} from './agent-tool.js';
import { CalculateTool } from './calculate.tool.js';
import { CurrentTimeTool } from './current-time.tool.js';
import { withoutControlTokens } from './quotation.js';
import { ReadDocumentTool } from './read-document.tool.js';
import { SearchKnowledgeTool } from './search-knowledge.tool.js';
import {
  classOf,
  isRecorded,
  leavesUnknown,
  ToolEffects,
  UNKNOWN_OUTCOME,
} from './tool.effects.js';
import type { AskedCall, RecordedCall, TurnEffects } from './tool.effects.js';
import { FetchPageTool } from './fetch-page.tool.js';
import { ActivateSkillTool, ReadSkillResourceTool } from './skill.tools.js';
import { WebSearchTool } from './web-search.tool.js';

/** Every tool by its name, in the order in which models are offered them. A new tool is one line here. */
const TOOLS = {
  search_knowledge: SearchKnowledgeTool,
  read_document: ReadDocumentTool,
  current_time: CurrentTimeTool,
  calculate: CalculateTool,
  activate_skill: ActivateSkillTool,
  read_skill_resource: ReadSkillResourceTool,
  web_search: WebSearchTool,
  fetch_page: FetchPageTool,
} as const satisfies Record<string, Type<AgentTool>>;

/** All tools; they are made by Nest in the order of TOOLS. */
export const AGENT_TOOLS = Symbol('AGENT_TOOLS');

/** Maximum characters of a call's arguments. */
const MAX_ARGUMENT_CHARS = 100_000;

/** The context of a call, without what AgentTools adds itself. */
export interface CallContext extends Omit<ToolContext, 'room'> {
  /** Budget for the answer in the model's window; by default only characters count. */
  readonly room?: AnswerRoom;
  /** The names that were offered in this turn; other tools are not run. */
  readonly offered: readonly string[];
  /** The id that the model gave the call. */
  readonly callId?: string;
  /** Number of the call in the turn. */
  readonly number?: number;
  /** Id of the call in the ledger; undefined for a tool that changes nothing. */
  readonly effectId?: string | undefined;
  /** The turn that the call is recorded for. */
  readonly effects?: TurnEffects | undefined;
}

/** Limits of one call of a tool. */
export const TOOL_LIMITS = { timeoutMs: 30_000 };

/** The tools that agents can switch on, and the execution of their calls. */
@Injectable()
export class AgentTools {
  readonly all: readonly AgentTool[];
  private readonly logger = new Logger('AgentTools');
  private readonly byName: ReadonlyMap<string, AgentTool>;
  private readonly schemas: ReadonlyMap<string, Record<string, unknown>>;

  constructor(
    @Inject(AGENT_TOOLS) tools: readonly AgentTool[],
    private readonly effects: ToolEffects,
  ) {
    this.all = tools;
    this.byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.schemas = new Map(tools.map(({ name, input }) => [name, schemaOf(input)]));
  }

  find(name: string): AgentTool | undefined {
    return this.byName.get(name);
  }

  /**
   * The definitions of those named tools that can be used in the turn, in the order of the registry, and of the tools of its
   * tool servers.
   */
  offered(names: readonly string[], turn: ToolTurn): ToolDefinition[] {
    const named = this.all.filter((tool) => names.includes(tool.name));
    return [...named, ...(turn.serverTools ?? [])]
      .filter((tool) => tool.refusal?.(turn) === undefined)
      .map((tool) => ({
        name: tool.name,
        description: [tool.description, tool.describe?.(turn)].filter(Boolean).join('\n\n'),
        inputSchema: tool.schema ?? this.schemas.get(tool.name) ?? {},
      }));
  }

  /** Whether a call of the tool is recorded in the ledger. */
  isRecorded(name: string, turn: ToolTurn): boolean {
    const tool = this.toolOf(name, turn);
    return tool !== undefined && isRecorded(tool);
  }

  /** Stores those of the calls that wait for the consent of a person. */
  async ask(
    calls: readonly (Omit<RecordedCall, 'effectId' | 'input'> &
      Pick<CallContext, 'effectId'> & { readonly name: string; readonly arguments: string })[],
    context: CallContext,
  ): Promise<AskedCall[]> {
    const { caller, effects } = context;
    if (!effects) return [];
    const pendingCalls: { call: RecordedCall; tool: AgentTool }[] = [];
    for (const { effectId, number, id, name, arguments: argumentsJson } of calls) {
      const tool = effectId === undefined ? undefined : this.toolOf(name, context);
      if (effectId === undefined || !tool || !(await this.effects.asks(tool, caller, effects)))
        continue;
      const input = this.validInput(name, argumentsJson, context);
      if (input !== undefined) pendingCalls.push({ call: { effectId, number, id, input }, tool });
    }
    return pendingCalls.length === 0 ? [] : this.effects.ask(caller, effects, pendingCalls);
  }

  /** The arguments of a call that may be asked for; undefined for one that fails by itself. */
  private validInput(
    name: string,
    argumentsJson: string,
    context: CallContext,
  ): RecordedCall['input'] | undefined {
    try {
      return inputOf(this.allowed(name, context), argumentsJson) as RecordedCall['input'];
    } catch (error) {
      if (error instanceof ToolFailure) return undefined;
      throw error;
    }
  }

  /**
   * Executes one call. What the tool answers cannot steer the model by control tokens. Never rejects: an unknown tool, invalid arguments and failures are answers for the model. The call
   * ends with the signal or the time limit, whether or not the tool stops then.
   */
  run(name: string, argumentsJson: string, context: CallContext): Promise<ToolResult> {
    // A model can call a tool that does not exist.
    const tool = this.toolOf(name, context);
    const toolName = tool ? name : '_OTHER';
    const isEffect = tool !== undefined && isRecorded(tool);
    const attributes = () => ({
      [ATTRIBUTE.operation]: OPERATION.executeTool,
      [ATTRIBUTE.toolName]: toolName,
      [ATTRIBUTE.toolType]: 'function',
      [ATTRIBUTE.toolCallId]: context.callId,
      [ATTRIBUTE.effectClass]: isEffect ? classOf(tool) : undefined,
      [ATTRIBUTE.effectId]: isEffect ? context.effectId : undefined,
    });
    return traced(`${OPERATION.executeTool} ${toolName}`, { attributes }, async (span) => {
      const result = await this.execute(name, argumentsJson, context);
      span?.set({ [ATTRIBUTE.outcome]: result.state });
      if (recordsContent(span, context.caller.tenantId)) {
        span.set({
          [ATTRIBUTE.toolArguments]: argumentsJson,
          [ATTRIBUTE.toolResult]: result.content,
        });
      }
      if (result.state !== 'done') span?.end(result.state);
      return result;
    });
  }

  private async execute(
    name: string,
    argumentsJson: string,
    context: CallContext,
  ): Promise<ToolResult> {
    const started = performance.now();
    const { room = UNLIMITED } = context;
    const ended = (state: ToolResult['state'], outcome: ToolOutcome): ToolResult => ({
      state,
      content: withinLimit(withoutControlTokens(outcome.content), room),
      summary: oneLine(outcome.summary),
      ...(outcome.images && { images: outcome.images }),
      durationMs: Math.round(performance.now() - started),
    });
    let tool: AgentTool;
    let input: unknown;
    let note = '';
    try {
      tool = this.allowed(name, context);
      input = inputOf(tool, argumentsJson);
      if (isRecorded(tool)) ({ input, note } = await this.begin(tool, input, context));
    } catch (error) {
      const message = this.messageOf(name, error);
      return ended('failed', { content: message, summary: message });
    }
    const { timeoutMs = TOOL_LIMITS.timeoutMs } = tool;
    const limit = new CallLimit(context.signal, timeoutMs);
    const { signal } = limit;
    let result: ToolResult;
    try {
      const work = unlessAborted(signal, () => tool.run(input, { ...context, room, signal }));
      const outcome = await work;
      result = ended('done', { ...outcome, content: note + outcome.content });
    } catch (error) {
      if (leavesUnknown(tool) && !isRefusal(error)) {
        if (!signal.aborted) this.messageOf(name, error);
        result = ended('uncertain', UNCERTAIN);
      } else if (context.signal.aborted) result = ended('stopped', STOPPED);
      else if (limit.isOver) result = ended('timeout', timeoutOutcome(timeoutMs));
      else {
        const message = this.messageOf(name, error);
        result = ended('failed', { content: note + message, summary: message });
      }
    } finally {
      limit.clear();
    }
    return isRecorded(tool) ? this.end(context, result) : result;
  }

  /** Writes down that a call begins, and answers its arguments as a person has left them. ToolFailure when it may not begin. */
  private async begin(
    tool: AgentTool,
    input: unknown,
    { effectId, effects: turn, caller, number = 0, callId = '' }: CallContext,
  ): Promise<{ readonly input: unknown; readonly note: string }> {
    if (effectId === undefined || turn === undefined) {
      throw new ToolFailure(
        `Calls of ${tool.name} are recorded, and this one is not. It was not called.`,
      );
    }
    const call = { effectId, number, id: callId, input: input as RecordedCall['input'] };
    return this.effects.begin(tool, call, { caller, turn }, (json) => inputOf(tool, json));
  }

  /** The outcome of a call, as it is recorded: one that cannot be stored is not known to a later reader either. */
  private async end(
    { caller, effectId = '' }: CallContext,
    result: ToolResult,
  ): Promise<ToolResult> {
    try {
      await this.effects.end(caller, effectId, result);
    } catch (error) {
      this.logger.error({
        msg: 'Failed to store the outcome of a tool call',
        effectId,
        err: error,
      });
    }
    return result;
  }

  private allowed(name: string, context: CallContext): AgentTool {
    const tool = this.toolOf(name, context);
    if (!tool || !context.offered.includes(name)) {
      const offered = context.offered.join(', ');
      const toolList = offered === '' ? 'There are no tools.' : `The tools are: ${offered}.`;
      throw new ToolFailure(`There is no tool "${name.slice(0, 64)}". ${toolList}`);
    }
    const refusal = tool.refusal?.(context);
    if (refusal !== undefined) throw new ToolFailure(refusal);
    return tool;
  }

  private toolOf(name: string, { serverTools }: ToolTurn): AgentTool | undefined {
    return this.byName.get(name) ?? serverTools?.find((tool) => tool.name === name);
  }

  private messageOf(tool: string, caught: unknown): string {
    const error = unavailableError(caught) ?? caught;
    if (error instanceof ToolFailure || error instanceof DomainError) return error.message;
    this.logger.error({ msg: 'Tool call failed', tool, err: error });
    return 'The tool failed. Answer without it, and say that it failed.';
  }
}

function timeoutOutcome(timeoutMs: number): ToolOutcome {
  const took = `The tool took longer than ${timeoutMs / 1_000} seconds and was stopped.`;
  return { content: `${took} Ask for less, or answer without it.`, summary: took };
}

/** Whether the error says that nothing was executed. */
function isRefusal(error: unknown): boolean {
  return error instanceof ToolFailure || (error instanceof DomainError && error.code < 500);
}

const UNLIMITED: AnswerRoom = { tokens: Infinity, counter: estimatingCounter };

const UNCERTAIN: ToolOutcome = {
  content: `No answer came from the tool. ${UNKNOWN_OUTCOME}`,
  summary: 'It is not known whether it was executed',
};

const STOPPED: ToolOutcome = {
  content: 'The tool was stopped before it finished.',
  summary: 'stopped',
};

/** The end of one call: the signal of the turn, or a time. */
class CallLimit {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly stop = (): void => this.controller.abort(this.outer.reason);

  constructor(
    private readonly outer: AbortSignal,
    milliseconds: number,
  ) {
    this.timer = setTimeout(
      () => this.controller.abort(new Error('Time limit reached')),
      milliseconds,
    );
    if (outer.aborted) this.stop();
    else outer.addEventListener('abort', this.stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Whether only the time is over. */
  get isOver(): boolean {
    return this.controller.signal.aborted && !this.outer.aborted;
  }

  clear(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener('abort', this.stop);
  }
}

/** Providers of the module: every tool, the list of them, and the registry. */
export const agentToolProviders: Provider[] = [
  ...Object.values(TOOLS),
  {
    provide: AGENT_TOOLS,
    inject: Object.values(TOOLS),
    useFactory: (...tools: AgentTool[]) => listed(tools),
  },
  ToolEffects,
  AgentTools,
];

/** Fails the start when a tool has another name than its line in TOOLS. */
function listed(tools: readonly AgentTool[]): readonly AgentTool[] {
  const names = Object.keys(TOOLS);
  const other = tools.filter(({ name }, place) => name !== names[place]);
  if (other.length === 0) return tools;
  throw new Error(
    `Tools whose names differ from tool.registry.ts: ${other.map(({ name }) => name).join(', ')}.`,
  );
}

function inputOf(tool: AgentTool, argumentsJson: string): unknown {
  const refuse = (why: string): ToolFailure =>
    new ToolFailure(
      `The arguments of ${tool.name} are not valid. ${why} Nothing was done; call it again with valid arguments.`,
    );
  if (argumentsJson.length > MAX_ARGUMENT_CHARS) {
    throw refuse(`They have more than ${MAX_ARGUMENT_CHARS} characters.`);
  }
  const result = tool.input.safeParse(parsed(argumentsJson, refuse));
  if (result.success) return result.data;
  const problems = result.error.issues
    .slice(0, 10)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  throw refuse(`${problems.join('; ')}.`);
}

function parsed(argumentsJson: string, refuse: (why: string) => ToolFailure): unknown {
  // A tool without arguments is called with an empty text by some models.
  if (argumentsJson.trim() === '') return {};
  try {
    return JSON.parse(argumentsJson, storable) as unknown;
  } catch {
    throw refuse('They are not JSON. Send one JSON object.');
  }
}

/** Removes lone surrogates and the NUL character, which PostgreSQL refuses. */
function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value;
}

function schemaOf(input: AgentTool['input']): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' });
  return schema;
}

const CUT = '\n[The answer was cut here. Ask for less.]';

function withinLimit(content: string, { tokens, counter }: AnswerRoom): string {
  const room = { characters: MAX_CONTENT_CHARS, tokens };
  if (fits(sizeOf(content, counter), room)) return content;
  return longestBeginning(content, room, counter, (beginning) => beginning + CUT) + CUT;
}

const MAX_SUMMARY_CHARS = 300;

function oneLine(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_SUMMARY_CHARS
    ? `${line.slice(0, MAX_SUMMARY_CHARS - 1).toWellFormed()}…`
    : line;
}
