import {
  estimateMessageTokens,
  estimateTokens,
  estimatingCounter,
  sendableTokens,
} from '../model/index.js';
import type { TokenCounter } from '../model/index.js';
import type { ChatMessage, ContentPart, ProviderState } from '../provider/index.js';
import type { StoredStep } from './step/step.entity.js';
import { stepMessages, textAfter } from './step/turn.steps.js';
import { MessageTooLongError } from './chat.errors.js';
import type { ChatFile } from './file/chat-file.js';

export interface StoredMessage {
  readonly id?: number;
  readonly role: string;
  /** As it is stored, or of a question with its files. */
  readonly content: string | readonly ContentPart[];
  /** What the question was sent with. */
  readonly files?: readonly ChatFile[] | null;
  /** Whether the session has a knowledge base with large files; the same for every message. */
  readonly hasSessionBase?: boolean;
  /** What the service wants back with the last text of an answer, for a turn that sends calls of tools. */
  readonly providerState?: ProviderState | null | undefined;
  /** Of an answer with tools, for a turn that sends them. */
  readonly steps?: readonly StoredStep[] | undefined;
}

/** A question with its answer. */
interface Exchange {
  /** Without the steps of the answer; undefined for an answer that has no text. */
  readonly texts: readonly ChatMessage[] | undefined;
  /** With its steps. */
  readonly messages: readonly ChatMessage[];
}

/** The beginning of a quoted source (quotedSource). Documents cannot write it: their own tags are escaped. */
const NUMBERED_FRAGMENT = /<fragment number="\d+" /g;

/** What stands for the text of an answer that ended after a step. */
const INTERRUPTED = 'The answer was interrupted.';

export interface HistoryLimits {
  readonly contextWindow: number | undefined;
  readonly maxAnswer: number | undefined;
  /** Sent first and never left out. */
  readonly systemPrompt?: string | undefined;
  /** Text that the adapter adds. */
  readonly instruction?: string | undefined;
  /** Keeps half of the free window for the steps of the turn. */
  readonly forSteps?: boolean;
}

/** The question of a turn as it is sent, with what was added to it and counted there. */
export interface SentQuestion {
  readonly message: ChatMessage;
  /** Tokens of files and sources in it, which were fitted into the window. */
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
  let room = limits.forSteps === true ? Math.floor(free / 2) : free;
  const kept: ChatMessage[] = [];
  for (const { messages, texts } of exchanges(stored).reverse()) {
    const fitting = [messages, texts].find((one) => one && tokensOf(one) <= room);
    if (!fitting) break;
    room -= tokensOf(fitting);
    kept.unshift(...fitting);
  }
  return [...system, ...kept, message];
}

/** By the rough count, because a text that may fit is not refused. */
function checkLength(
  messages: readonly ChatMessage[],
  { contextWindow, instruction = '' }: HistoryLimits,
): void {
  if (contextWindow === undefined) return;
  const texts = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
  const tokens = texts + estimateTokens(instruction);
  if (tokens > contextWindow) throw new MessageTooLongError(tokens, contextWindow);
}

function systemMessages(systemPrompt: string | undefined): ChatMessage[] {
  return systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }];
}

/** Tokens for what is added to the question: at most half of the free window. */
export function addableTokens(
  { message, addedTokens = 0, bare = message }: SentQuestion,
  limits: HistoryLimits,
  counter: TokenCounter,
): number {
  const free = freeTokens([...systemMessages(limits.systemPrompt), bare], limits, counter);
  return Math.max(0, Math.floor((free - addedTokens) / 2));
}

/** Tokens of the window that are free beside the messages and the answer; negative when they are too much. */
function freeTokens(
  messages: readonly ChatMessage[],
  limits: HistoryLimits,
  counter: TokenCounter = estimatingCounter,
): number {
  const instruction = counter.count(limits.instruction ?? '');
  return sendableTokens(limits) - tokensOf(messages, counter) - instruction;
}

function tokensOf(messages: readonly ChatMessage[], counter = estimatingCounter): number {
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

/** Numbers of fragments count in their own turn: a later answer must not cite them. */
function withoutNumbers(message: ChatMessage): ChatMessage {
  if (message.role !== 'tool') return message;
  return { ...message, content: message.content.replaceAll(NUMBERED_FRAGMENT, '<fragment ') };
}

function answerOf(content: string): ChatMessage {
  return { role: 'assistant', content };
}
