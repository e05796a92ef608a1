import type { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import type { Consent } from '../../effect/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import type { MetadataFilter } from '../../metadata/index.js';
import type { TokenCounter } from '../../model/index.js';
import type { ContentPart } from '../../provider/index.js';
import type { SkillInfo } from '../../skill/index.js';
import type { TurnSources } from './sources.js';

/** Maximum characters of a tool's answer. AgentTools cuts longer ones and says so. */
export const MAX_CONTENT_CHARS = 32_000;

/** Budget for a tool's answer in the model's window. */
export interface AnswerRoom {
  readonly tokens: number;
  readonly counter: TokenCounter;
}

/** Context of a tool call. */
export interface ToolTurn {
  readonly caller: Caller;
  /** Agent of the turn. */
  readonly agentId?: number | undefined;
  /** The knowledge bases of the agent, or the one that the message names. Tools read these and no others. */
  readonly bases: readonly KnowledgeBase[];
  /** Tools read only documents whose metadata fits: the filter of the agent and that of the message. */
  readonly filter?: MetadataFilter | undefined;
  /** The skills of the agent; empty unless it uses them. */
  readonly skills: readonly SkillInfo[];
  /** Tools of tool servers that are offered beside those of the registry. */
  readonly serverTools?: readonly AgentTool[] | undefined;
  /** IANA name of the user's time zone. */
  readonly timeZone?: string | undefined;
}

export interface ToolContext extends ToolTurn {
  /** Aborts when the turn is stopped, or the call has reached its time limit. */
  readonly signal: AbortSignal;
  /** Numbers the fragments of the whole turn, so that the citations of several calls agree. */
  readonly sources: TurnSources;
  /** AgentTools cuts an answer that takes more; a tool that can choose what it answers chooses by it. */
  readonly room: AnswerRoom;
}

export interface ToolOutcome {
  /** Text for the model; says where it was cut and how to continue. */
  readonly content: string;
  /** One line for people: `searched "warranty": 3 fragments`. */
  readonly summary: string;
  /** Images for a model that can see; they are not stored. */
  readonly images?: readonly ContentPart[] | undefined;
}

/** A call of one tool that has ended. */
export interface ToolResult {
  /**
   * `timeout`: its own time limit; `stopped`: the signal of the turn; `uncertain`: it may have been executed, and must not be
   * repeated.
   */
  readonly state: 'done' | 'failed' | 'timeout' | 'stopped' | 'uncertain';
  /** Text for the model, also for a failure. */
  readonly content: string;
  /** One line for people. */
  readonly summary: string;
  readonly images?: readonly ContentPart[] | undefined;
  readonly durationMs: number;
}

/** What a call may change, as the annotations of MCP tools say it. */
export interface ToolFacts {
  /** Changes nothing. Calls of other tools are recorded before they begin. */
  readonly readOnly: boolean;
  /** The same call again changes nothing more, so a call whose outcome is unknown may be repeated. */
  readonly idempotent: boolean;
  /** May delete or overwrite. */
  readonly destructive: boolean;
}

/** A tool that an agent can switch on. One file for each tool, and one line in tool.registry.ts. */
export interface AgentTool<Input = unknown> {
  /** The name on the wire and for the model, in snake_case. */
  readonly name: string;
  /** What people call the tool; a search for tools finds it, too. */
  readonly title?: string | undefined;
  /** The tool server that the tool is of. */
  readonly serverName?: string | undefined;
  /** Description for the model: purpose, limits, and when to use another tool. */
  readonly description: string;
  /** A strict object: an unknown property is an error. */
  readonly input: z.ZodType<Input>;
  /** A tool without facts is read-only. */
  readonly facts?: ToolFacts;
  /** Whether a person is asked before a call; `always` by default. */
  readonly consent?: Consent;
  /**
   * What the consent "for this chat" is bound to: for a tool of a server its address, the tool and the hash of its schema, so
   * that a changed tool asks again. The name by default.
   */
  readonly subject?: string;
  /** JSON Schema that models get; default: that of `input`. */
  readonly schema?: Record<string, unknown> | undefined;
  /** Time limit of a call; default: TOOL_LIMITS. */
  readonly timeoutMs?: number | undefined;
  /** Addition to the description in this turn, such as the available knowledge bases. */
  describe?(turn: ToolTurn): string;
  /** Why the tool cannot be offered in this turn; undefined when it can. */
  refusal?(turn: ToolTurn): string | undefined;
  /** Fails with ToolFailure or another DomainError; any other error is logged and not shown to the model. */
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/** A call that failed. The model reads the message, which says what to do next, and the turn goes on. */
export class ToolFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}
