import type { ModelUse, ResolvedChatModel } from '../../model/index.js';
import type { CallLimits, ChatMessage, ChatPart, Generation } from '../../provider/index.js';
import type { ToolResult, ToolTurn } from '../tool/agent-tool.js';
import type { AskedCall, TurnEffects } from '../tool/tool.effects.js';
import type { TurnSources } from '../tool/sources.js';

/** Limits of one call of the model. `totalMs` is also the limit of the whole turn. */
export interface TurnLimits extends CallLimits {
  /** Tries before the first part of an answer. */
  readonly attempts: number;
}

/**
 * A turn for a runtime to answer. As a ToolTurn it limits the data of tools: `bases` are those of the agent, and `skills` are
 * empty unless the agent uses them.
 */
export interface RuntimeTurn extends ToolTurn {
  /** Caller of the turn, for each model call. */
  readonly use: ModelUse;
  /** The model resolved for the turn. */
  readonly model: ResolvedChatModel;
  /** Reloads the model. A runtime calls this before each model call. */
  readonly currentModel: () => ResolvedChatModel | Promise<ResolvedChatModel>;
  /** Tool names of the agent. AgentTools decides which can be offered. */
  readonly tools: readonly string[];
  /** Step limit of the agent; the installation's limit applies as well. */
  readonly maxSteps: number | undefined;
  /** Numbers the fragments that the model gets in the turn; it has those of the question. Only runtimes with tools read it. */
  readonly sources?: TurnSources | undefined;
  /** Prompt, history and question; of a turn that goes on, its steps as well. */
  readonly messages: readonly ChatMessage[];
  /** The turn that calls are recorded for. */
  readonly effects: TurnEffects;
  /** The calls that waited for a person: the runtime carries them out before it calls the model. */
  readonly resumed?: ResumedCalls | undefined;
  /** The reader of the parts checks an answer for which a response format is set. */
  readonly generation: Generation;
  readonly limits: TurnLimits;
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal;
}

/** How a tool call ended. `stopped`: the turn ended before the tool did. */
export type CallState = ToolResult['state'];

/** A tool call as the model decided it. */
export interface DecidedCall {
  /** Number of the call in the turn, from 1. */
  readonly number: number;
  /** The id by which the model knows the call. */
  readonly id: string;
  readonly name: string;
  /** The JSON text as the model wrote it. */
  readonly arguments: string;
  /** Id of the call in the ledger; undefined for a tool that changes nothing. */
  readonly effectId?: string | undefined;
}

/** Calls of the last step that a person has decided, and what the turn has used before. */
export interface ResumedCalls {
  readonly calls: readonly DecidedCall[];
  readonly stepCount: number;
  readonly callCount: number;
}

/** The end of a tool call. */
export interface CallResult extends ToolResult {
  readonly number: number;
}

/** Limit that ended the tool loop before the model did. */
export type LimitReached = 'max-steps' | 'max-tool-calls' | 'max-tokens';

/**
 * A part of an answer: those of the adapter as they come, and what a runtime does between two calls of the model. A `step`
 * follows the parts of an answer that calls tools, before the first of them runs, and each of its calls ends with a
 * `tool-result`. `limit` comes before the last call of the model, which is made without tools.
 */
export type TurnPart =
  | ChatPart
  | { readonly type: 'step'; readonly calls: readonly DecidedCall[] }
  | { readonly type: 'tool-result'; readonly result: CallResult }
  /** The last part of a turn that waits for the consent of a person to these calls. */
  | { readonly type: 'waiting'; readonly calls: readonly AskedCall[] }
  | { readonly type: 'limit'; readonly reached: LimitReached };

/** How an agent answers. One folder or file for each runtime, and one line in runtime.registry.ts. */
export interface AgentRuntime {
  /** The value of `runtime` in the record of an agent. */
  readonly code: string;
  /** Description for administrators who choose a runtime. */
  readonly description: string;
  /** Whether it runs the tools of the agent: such a runtime needs a model that supports tools. */
  readonly usesTools: boolean;
  /**
   * The parts of the answer, as arrays that are never empty. The reader stores a `step` before it asks for the next parts,
   * so a runtime runs a tool only after the parts of its step were taken. Leaving the loop, or the signal, ends all work.
   */
  answer(turn: RuntimeTurn): AsyncIterable<readonly TurnPart[]>;
}
