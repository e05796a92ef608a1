import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import type { Config } from '../platform/config/index.js';
import { AgentRuntimes, AgentService, ResponseFormats } from '../agent/index.js';
import type {
  AgentForChat,
  AgentRuntime,
  Generation,
  RuntimeTurn,
  TurnLimits,
  TurnPart,
} from '../agent/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { allOf, readFilter } from '../metadata/index.js';
import type { MetadataFilter } from '../metadata/index.js';
import { ModelResolver, tokenCounter } from '../model/index.js';
import type { CallTrail, ModelUse, ResolvedChatModel } from '../model/index.js';
import { formatInstruction } from '../provider/index.js';
import type { ChatMessage, ResponseFormat } from '../provider/index.js';
import { ChatAugmentation } from './augmentation/chat.augmentation.js';
import type { Augmented } from './augmentation/chat.augmentation.js';
import type { SendBody } from './chat.dto.js';
import { addableTokens, historyWindow } from './chat.history.js';
import type { HistoryLimits, StoredMessage } from './chat.history.js';
import { StructuredAnswers } from './format/structured-answers.js';

/** An agent that has this tool searches when it needs to, not before each answer. */
const SEARCH_TOOL = 'search_knowledge';

/** How a message is answered. */
export interface TurnPlan {
  readonly runtime: AgentRuntime;
  readonly model: ResolvedChatModel;
  readonly agentId: number | undefined;
  /** The prompt of the agent. */
  readonly systemPrompt: string | undefined;
  /** The knowledge bases to search before the answer; often none. */
  readonly bases: readonly KnowledgeBase[];
  /** Of their documents only those whose metadata fits. */
  readonly filter: MetadataFilter | undefined;
  readonly generation: Generation;
  /** What a runtime with tools may use. */
  readonly work: TurnWork;
}

/** The tools of a turn and what they may read. */
export type TurnWork = Pick<RuntimeTurn, 'tools' | 'bases' | 'filter' | 'skills' | 'maxSteps'>;

/** What a request says about how it is answered. */
export type PlannedBody = Pick<
  SendBody,
  | 'model'
  | 'agentId'
  | 'knowledgeId'
  | 'filter'
  | 'responseFormat'
  | 'enableThinking'
  | 'temperature'
  | 'topP'
  | 'maxTokens'
  | 'stop'
>;

/** The question of a turn, before fragments are added to it. */
export interface TurnQuestion {
  readonly text: string;
  /** The message for the model with this text in place of the question's. */
  readonly messageOf: (text: string) => ChatMessage;
  /** The question without its files. */
  readonly bare: ChatMessage;
  /** Tokens of files in it, which were fitted into the window. */
  readonly addedTokens: number;
}

/** What the messages of a turn are made from. */
export interface TurnMessagesInput {
  readonly caller: Caller;
  readonly plan: TurnPlan;
  /** Oldest first. */
  readonly history: readonly StoredMessage[];
  readonly question: TurnQuestion;
  /** The knowledge bases to search, those of files of the conversation included. */
  readonly bases: readonly KnowledgeBase[];
  readonly signal: AbortSignal;
}

/** The messages for the model; `found` only where knowledge bases were searched. */
export interface TurnMessages {
  readonly messages: ChatMessage[];
  readonly found?: Augmented;
}

/** What a runtime is called with beside the plan. */
export type PlannedCall = Pick<
  RuntimeTurn,
  'caller' | 'currentModel' | 'messages' | 'sources' | 'limits' | 'signal'
> & {
  /** Is told of each attempt of the model. */
  readonly trail?: CallTrail;
  /** As in FormattedCalls. */
  readonly passesUnfinished?: boolean;
};

/** Decides how a message is answered, and with which messages the model is called. */
@Injectable()
export class TurnPlanner {
  constructor(
    private readonly models: ModelResolver,
    private readonly agents: AgentService,
    private readonly runtimes: AgentRuntimes,
    private readonly knowledge: KnowledgeService,
    private readonly formats: ResponseFormats,
    private readonly augmentation: ChatAugmentation,
    private readonly structured: StructuredAnswers,
  ) {}

  /**
   * The agent's model and knowledge bases take precedence over those of the request. The caller needs read access to a
   * base that the request names; those of an agent are passed on by its creator. Throws a DomainError for what
   * cannot be used.
   */
  async plan(caller: Caller, body: PlannedBody): Promise<TurnPlan> {
    const format = body.responseFormat && (await this.formats.read(caller, body.responseFormat));
    if (body.agentId === undefined) {
      const model = await this.models.resolveChat(caller, body.model);
      const bases = await this.requested(caller, body);
      return planOf(body, { runtime: this.runtimes.direct, model, bases, format });
    }
    const agent = await this.agents.forChat(caller, body.agentId);
    const model = await this.models.resolveChatById(caller, agent.modelId);
    const runtime = this.runtimes.forModel(agent.runtime, model);
    const bound = await this.agents.basesOf(caller, agent);
    const bases = bound.length > 0 ? bound : await this.requested(caller, body);
    return planOf(body, { runtime, model, bases, agent, format });
  }

  /** The prompt, the history that fits, and the question with the fragments that were found for it. */
  async messages(input: TurnMessagesInput): Promise<TurnMessages> {
    const { caller, plan, history, question, bases, signal } = input;
    const { bare, addedTokens } = question;
    const limits = historyLimits(plan);
    const asked = { message: question.messageOf(question.text), addedTokens, bare };
    if (bases.length === 0) return { messages: historyWindow(history, asked, limits) };
    const counter = await tokenCounter(plan.model.modelName);
    const withoutPrompt = { ...limits, systemPrompt: undefined };
    const found = await this.augmentation.augment(caller, {
      question: question.text,
      bases,
      filter: plan.filter,
      history: historyWindow(history, asked, withoutPrompt).slice(0, -1),
      model: plan.model,
      agentId: plan.agentId,
      room: addableTokens(asked, limits, counter),
      counter,
      signal,
    });
    const sent = {
      message: question.messageOf(found.question),
      addedTokens: addedTokens + found.addedTokens,
      bare,
    };
    return { messages: historyWindow(history, sent, limits), found };
  }

  /** The parts of the answer of the plan's runtime. With a response format, its text comes once it fits. */
  answer(plan: TurnPlan, call: PlannedCall): AsyncIterable<readonly TurnPart[]> {
    const { runtime, model, agentId, generation, work } = plan;
    const { trail, passesUnfinished, ...rest } = call;
    const use = { ...useOf(call.caller, plan), trail };
    const turn: RuntimeTurn = { ...work, ...rest, use, agentId, model, generation };
    const answer = runtime.answer(turn);
    const { responseFormat: format } = generation;
    if (!format) return answer;
    const { direct } = this.runtimes;
    return this.structured.read({
      caller: call.caller,
      signal: call.signal,
      format,
      first: answer,
      passesUnfinished,
      correct: (more) => direct.answer({ ...turn, messages: [...call.messages, ...more] }),
    });
  }

  private async requested(caller: Caller, { knowledgeId }: PlannedBody): Promise<KnowledgeBase[]> {
    return knowledgeId === undefined ? [] : [await this.knowledge.selectable(caller, knowledgeId)];
  }
}

/** What a turn calls models for. */
function useOf(caller: Caller, { agentId }: TurnPlan): ModelUse {
  return agentId === undefined
    ? { caller, feature: 'chat' }
    : { caller, feature: 'agent', agentId };
}

export function turnLimits(config: Config): TurnLimits {
  return {
    connectMs: config.CHAT_CONNECT_TIMEOUT_SECONDS * 1_000,
    idleMs: config.CHAT_IDLE_TIMEOUT_SECONDS * 1_000,
    totalMs: config.CHAT_STREAM_TIMEOUT_SECONDS * 1_000,
    attempts: config.CHAT_ATTEMPTS,
  };
}

export function historyLimits(plan: TurnPlan): HistoryLimits {
  const { model, generation, systemPrompt, runtime } = plan;
  const { maxTokens: maxAnswer, responseFormat } = generation;
  // A service that shows the schema to the model itself counts it, too.
  const instruction = responseFormat && formatInstruction(responseFormat);
  const { contextWindow } = model;
  return { contextWindow, maxAnswer, systemPrompt, instruction, forSteps: runtime.usesTools };
}

function planOf(
  body: PlannedBody,
  found: {
    readonly runtime: AgentRuntime;
    readonly model: ResolvedChatModel;
    readonly bases: readonly KnowledgeBase[];
    readonly agent?: AgentForChat;
    /** Of the message: null asks for free text, undefined for what the agent has. */
    readonly format: ResponseFormat | null | undefined;
  },
): TurnPlan {
  const { runtime, model, bases, agent, format } = found;
  const { tools = [], skills = [], maxSteps } = agent ?? {};
  // A message narrows what its agent may search, and never widens it.
  const filter = allOf(agent?.filter, body.filter && readFilter(body.filter));
  const searchesItself = runtime.usesTools && tools.includes(SEARCH_TOOL);
  return {
    runtime,
    model,
    agentId: agent && body.agentId,
    bases: searchesItself ? [] : bases,
    filter,
    work: { tools, skills, bases, filter, maxSteps },
    systemPrompt: agent?.systemPrompt?.trim() || undefined,
    generation: {
      thinking: body.enableThinking ?? (agent?.enableThinking === true ? true : undefined),
      temperature: body.temperature ?? agent?.temperature ?? undefined,
      topP: body.topP ?? agent?.topP ?? undefined,
      maxTokens: body.maxTokens ?? agent?.maxTokens ?? model.maxOutput,
      stop: body.stop,
      responseFormat: (format === undefined ? agent?.responseFormat : format) ?? undefined,
    },
  };
}
