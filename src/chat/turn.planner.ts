import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AgentRuntimes, AgentService, ResponseFormats } from '../agent/index.js';
import type { AgentForChat, AgentRuntime, RuntimeTurn, TurnPart } from '../agent/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { allOf, readFilter } from '../metadata/index.js';
import type { MetadataFilter } from '../metadata/index.js';
import {
  estimateMessagesTokens,
  estimateMessageTokens,
  estimateTokens,
  estimatingCounter,
  ModelResolver,
  sendableTokens,
  tokenCounter,
} from '../model/index.js';
import type { CallTrail, ModelUse, ResolvedChatModel, TokenCounter } from '../model/index.js';
import { formatInstruction, generationIn } from '../provider/index.js';
import type { ChatMessage, ContentPart, Generation, ResponseFormat } from '../provider/index.js';
import { ChatAugmentation } from './augmentation/chat.augmentation.js';
import type { Augmented } from './augmentation/chat.augmentation.js';
import type { SendBody } from './chat.dto.js';
import { MessageTooLongError } from './chat.errors.js';
import { StructuredAnswers } from './format/structured-answers.js';
import type { StoredMessage } from './turn.repository.js';
import { stepMessages, textAfter } from './turn.steps.js';

/** An agent that has this tool searches when it needs to, not before each answer. */
const SEARCH_TOOL = 'search_knowledge';

/** Plan of an answer. */
export interface TurnPlan {
  readonly runtime: AgentRuntime;
  readonly model: ResolvedChatModel;
  readonly agentId: number | undefined;
  /** The prompt of the agent. */
  readonly systemPrompt: string | undefined;
  /** The knowledge bases to search before the answer; often none. */
  readonly bases: readonly KnowledgeBase[];
  /** Restricts the search to documents with matching metadata. */
  readonly filter: MetadataFilter | undefined;
  readonly generation: Generation;
  /** Tools of the turn. */
  readonly work: TurnWork;
}

/** The tools of a turn and the data that they may read. */
type TurnWork = Pick<
  RuntimeTurn,
  'tools' | 'serverTools' | 'bases' | 'filter' | 'skills' | 'maxSteps'
>;

/** Request fields that affect the plan. */
type PlannedBody = Pick<
  SendBody,
  'model' | 'agentId' | 'knowledgeId' | 'filter' | 'responseFormat' | 'enableThinking'
> &
  Omit<Generation, 'thinking' | 'responseFormat'>;

/** The question of a turn, before fragments are added to it. */
export interface TurnQuestion {
  readonly text: string;
  /** The message for the model with this text in place of the question's. */
  readonly messageOf: (text: string) => ChatMessage;
  /** The question without its files. */
  readonly bare: ChatMessage;
  /** Tokens of its files, which already fit into the window. */
  readonly addedTokens: number;
}

/** Inputs for the messages of a turn. */
interface TurnMessagesInput {
  readonly caller: Caller;
  readonly plan: TurnPlan;
  /** Oldest first. */
  readonly history: readonly StoredMessage[];
  readonly question: TurnQuestion;
  /** The knowledge bases to search, those of files of the conversation included. */
  readonly bases: readonly KnowledgeBase[];
  readonly signal: AbortSignal;
}

/** The messages for the model; `augmentation` only if knowledge bases were searched. */
interface TurnMessages {
  readonly messages: ChatMessage[];
  readonly augmentation?: Augmented;
}

/** Arguments of a runtime call besides the plan. */
type PlannedCall = Pick<
  RuntimeTurn,
  'caller' | 'messages' | 'sources' | 'limits' | 'signal' | 'effects' | 'resumed'
> & {
  /** The plan was made just now, so the first call uses its model without looking it up again. */
  readonly isResolvedNow?: boolean;
  /** Records each attempt of the model. */
  readonly trail?: CallTrail;
  /** Passes on an unfinished structured answer instead of failing (FormattedCalls). */
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
   * The agent's model and knowledge bases take precedence over those of the request. The caller needs the level use on what
   * the request names; an agent brings its model. Throws a DomainError for what cannot be used.
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
    const serverTools = runtime.usesTools ? await this.agents.serverToolsOf(caller, agent) : [];
    return planOf(body, { runtime, model, bases, agent, serverTools, format });
  }

  /** The prompt, the history that fits, and the question with the fragments that were found for it. */
  async messages(input: TurnMessagesInput): Promise<TurnMessages> {
    const { caller, plan, history, question, bases, signal } = input;
    const { bare, addedTokens } = question;
    const limits = historyLimits(plan);
    const originalQuestion = { message: question.messageOf(question.text), addedTokens, bare };
    if (bases.length === 0) return { messages: historyWindow(history, originalQuestion, limits) };
    const counter = await tokenCounter(plan.model.modelName);
    const withoutPrompt = { ...limits, systemPrompt: undefined };
    const augmentation = await this.augmentation.augment(caller, {
      question: question.text,
      bases,
      filter: plan.filter,
      history: historyWindow(history, originalQuestion, withoutPrompt).slice(0, -1),
      model: plan.model,
      agentId: plan.agentId,
      room: addableTokens(originalQuestion, limits, counter),
      counter,
      signal,
    });
    const augmentedQuestion = {
      message: question.messageOf(augmentation.question),
      addedTokens: addedTokens + augmentation.addedTokens,
      bare,
    };
    return { messages: historyWindow(history, augmentedQuestion, limits), augmentation };
  }

  /** The parts of the answer of the plan's runtime. With a response format, its text comes once it fits. */
  answer(plan: TurnPlan, call: PlannedCall): AsyncIterable<readonly TurnPart[]> {
    const { runtime, model, agentId, generation, work } = plan;
    const { trail, passesUnfinished, isResolvedNow = false, ...rest } = call;
    const use = { ...useOf(call.caller, plan), trail };
    let isCurrent = isResolvedNow;
    const currentModel: RuntimeTurn['currentModel'] = () => {
      if (!isCurrent) return this.models.current(model);
      isCurrent = false;
      return model;
    };
    const turn: RuntimeTurn = { ...work, ...rest, use, agentId, model, currentModel, generation };
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

  /** Whether the caller, as of now, may still use what the turn was planned with. */
  async mayGoOn(caller: Caller, { agentId, model, work }: TurnPlan): Promise<boolean> {
    // An agent brings its model.
    if (agentId === undefined && !(await this.models.mayUse(caller, model.id))) return false;
    return this.agents.mayGoOn(caller, agentId, work.bases);
  }

  private async requested(caller: Caller, { knowledgeId }: PlannedBody): Promise<KnowledgeBase[]> {
    return knowledgeId === undefined ? [] : [await this.knowledge.selectable(caller, knowledgeId)];
  }
}

/** Purpose of the turn's model calls. */
function useOf(caller: Caller, { agentId }: TurnPlan): ModelUse {
  return agentId === undefined
    ? { caller, feature: 'chat' }
    : { caller, feature: 'agent', agentId };
}

export function historyLimits(plan: TurnPlan): HistoryLimits {
  const { model, generation, systemPrompt, runtime } = plan;
  const { maxTokens: maxAnswer, responseFormat } = generation;
  // Services that show the schema to the model count its tokens, too.
  const instruction = responseFormat && formatInstruction(responseFormat);
  const { contextWindow } = model;
  return { contextWindow, maxAnswer, systemPrompt, instruction, forSteps: runtime.usesTools };
}

function planOf(
  body: PlannedBody,
  resolved: {
    readonly runtime: AgentRuntime;
    readonly model: ResolvedChatModel;
    readonly bases: readonly KnowledgeBase[];
    readonly agent?: AgentForChat;
    readonly serverTools?: RuntimeTurn['serverTools'];
    /** The format that the message names: null asks for free text, undefined for the format of the agent. */
    readonly format: ResponseFormat | null | undefined;
  },
): TurnPlan {
  const { runtime, model, bases, agent, serverTools, format } = resolved;
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
    work: { tools, serverTools, skills, bases, filter, maxSteps },
    systemPrompt: agent?.systemPrompt?.trim() || undefined,
    generation: generationIn({
      maxTokens: model.maxOutput,
      ...agent?.generation,
      ...generationIn({ ...body, thinking: body.enableThinking, responseFormat: undefined }),
      responseFormat: format === undefined ? agent?.generation.responseFormat : format,
    }),
  };
}

/** A question with its answer. */
interface Exchange {
  /** Question and answer without its steps; undefined for an answer that has no text. */
  readonly texts: readonly ChatMessage[] | undefined;
  /** Question and answer with its steps. */
  readonly messages: readonly ChatMessage[];
}

/** A question as it is sent. Images come first: models answer better when they have seen what a text is about. */
export function questionWith(
  text: string,
  images: readonly ContentPart[] = [],
): ChatMessage & { role: 'user' } {
  if (images.length === 0) return { role: 'user', content: text };
  return { role: 'user', content: [...images, { type: 'text', text }] };
}

/** The beginning of a quoted source (quotedSource). Documents cannot write it: their own tags are escaped. */
const NUMBERED_FRAGMENT = /<fragment number="\d+" /g;

/** Placeholder text of an answer that ended after a step. */
const INTERRUPTED = 'The answer was interrupted.';

interface HistoryLimits {
  readonly contextWindow: number | undefined;
  readonly maxAnswer: number | undefined;
  /** The system prompt, sent first and never dropped. */
  readonly systemPrompt?: string | undefined;
  /** Instruction added by the adapter. */
  readonly instruction?: string | undefined;
  /** Whether half of the free window is reserved for steps. */
  readonly forSteps?: boolean;
}

/** The question as sent, with files and sources that were counted when they were added. */
interface SentQuestion {
  readonly message: ChatMessage;
  /** Tokens of its files and sources, which already fit into the window. */
  readonly addedTokens?: number;
  /** The question without them. */
  readonly bare?: ChatMessage;
}

/**
 * The messages for the model: the prompt of the agent, the newest stored exchanges that fit beside the question and the
 * answer, oldest first, and the question. An exchange without an answer is left out completely, so that roles alternate. One
 * that fits only without the calls of tools and their results is sent without them.
 * Throws MessageTooLongError when the user's own text exceeds a window that the model's record states; what was added to
 * it never makes it too long.
 */
export function historyWindow(
  stored: readonly StoredMessage[],
  { message, addedTokens = 0, bare = message }: SentQuestion,
  limits: HistoryLimits,
): ChatMessage[] {
  const system = systemMessages(limits.systemPrompt);
  checkLength([...system, bare], limits);
  if (stored.length === 0) return [...system, message];
  const free = freeTokens([...system, bare], limits) - addedTokens;
  let remainingTokens = limits.forSteps === true ? Math.floor(free / 2) : free;
  const recentMessages: ChatMessage[] = [];
  for (const { messages, texts } of exchanges(stored).reverse()) {
    const fitting = [messages, texts].find((one) => one && countedTokens(one) <= remainingTokens);
    if (!fitting) break;
    remainingTokens -= countedTokens(fitting);
    recentMessages.unshift(...fitting);
  }
  return [...system, ...recentMessages, message];
}

/** A rough count, so that texts that may fit are accepted. */
function checkLength(
  messages: readonly ChatMessage[],
  { contextWindow, instruction = '' }: HistoryLimits,
): void {
  if (contextWindow === undefined) return;
  const tokens = estimateMessagesTokens(messages) + estimateTokens(instruction);
  if (tokens > contextWindow) throw new MessageTooLongError(tokens, contextWindow);
}

function systemMessages(systemPrompt: string | undefined): ChatMessage[] {
  return systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }];
}

/** Token budget for additions to the question: at most half of the free window. */
export function addableTokens(
  { message, addedTokens = 0, bare = message }: SentQuestion,
  limits: HistoryLimits,
  counter: TokenCounter,
): number {
  const free = freeTokens([...systemMessages(limits.systemPrompt), bare], limits, counter);
  return Math.max(0, Math.floor((free - addedTokens) / 2));
}

/** Remaining tokens of the window after messages and answer; negative if they exceed it. */
function freeTokens(
  messages: readonly ChatMessage[],
  limits: HistoryLimits,
  counter: TokenCounter = estimatingCounter,
): number {
  const instruction = counter.count(limits.instruction ?? '');
  return sendableTokens(limits) - countedTokens(messages, counter) - instruction;
}

function countedTokens(messages: readonly ChatMessage[], counter = estimatingCounter): number {
  const count = (text: string): number => counter.count(text);
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message, count), 0);
}

function exchanges(stored: readonly StoredMessage[]): Exchange[] {
  const pairs: Exchange[] = [];
  let question: ChatMessage | undefined;
  for (const message of stored) {
    const { role, content, steps = [] } = message;
    if (role === 'user') question = { role, content };
    else if (role === 'assistant' && question && typeof content === 'string') {
      if (content === '' && steps.length === 0) continue;
      pairs.push(exchangeOf(question, content, message));
      question = undefined;
    }
  }
  return pairs;
}

function exchangeOf(
  question: ChatMessage,
  content: string,
  { steps = [], providerState }: StoredMessage,
): Exchange {
  const state = providerState ? { providerState } : {};
  const texts = content === '' ? undefined : [question, { ...answerOf(content), ...state }];
  if (texts && steps.length === 0) return { texts, messages: texts };
  const last = textAfter(steps, content);
  if (last === undefined) return { texts, messages: texts ?? [] };
  const calls = steps.flatMap(stepMessages).map(withoutNumbers);
  return {
    texts,
    messages: [question, ...calls, { ...answerOf(last === '' ? INTERRUPTED : last), ...state }],
  };
}

/** Fragment numbers are only valid in their own turn; later answers must not cite them. */
function withoutNumbers(message: ChatMessage): ChatMessage {
  if (message.role !== 'tool') return message;
  return { ...message, content: message.content.replaceAll(NUMBERED_FRAGMENT, '<fragment ') };
}

function answerOf(content: string): ChatMessage {
  return { role: 'assistant', content };
}
