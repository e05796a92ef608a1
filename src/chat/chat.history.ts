import { estimateMessageTokens, estimateTokens, sendableTokens } from '../model/index.js';
import type { ChatMessage, ContentPart } from '../provider/index.js';
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

/**
 * The messages for the model: the prompt of the agent, the newest stored exchanges that fit beside the question and the
 * answer, oldest first, and the question. An exchange without an answer is left out completely, so that roles alternate. One
 * that fits only without the calls of tools and their results is sent without them.
 * Throws MessageTooLongError when the question alone exceeds a window that the model's record states.
 */
export function historyWindow(
  stored: readonly StoredMessage[],
  question: ChatMessage,
  limits: HistoryLimits,
): ChatMessage[] {
  const system = systemMessages(limits.systemPrompt);
  const questionTokens = tokensOf([...system, question]);
  const leastTokens = questionTokens + instructionTokens(limits);
  if (limits.contextWindow !== undefined && leastTokens > limits.contextWindow) {
    throw new MessageTooLongError(leastTokens, limits.contextWindow);
  }
  const free = freeTokens(questionTokens, limits);
  let room = limits.forSteps === true ? Math.floor(free / 2) : free;
  const kept: ChatMessage[] = [];
  for (const { messages, texts } of exchanges(stored).reverse()) {
    const fitting = [messages, texts].find((one) => one && tokensOf(one) <= room);
    if (!fitting) break;
    room -= tokensOf(fitting);
    kept.unshift(...fitting);
  }
  return [...system, ...kept, question];
}

function systemMessages(systemPrompt: string | undefined): ChatMessage[] {
  return systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }];
}

/** Characters of retrieved text that fit beside the question: at most half of the free window. */
export function sourceCharacters(question: ChatMessage, limits: HistoryLimits): number {
  const taken = tokensOf([...systemMessages(limits.systemPrompt), question]);
  // A character can be a token (Chinese), so counting one token per character never exceeds the window.
  return Math.max(0, Math.floor(freeTokens(taken, limits) / 2));
}

function instructionTokens({ instruction }: HistoryLimits): number {
  return instruction === undefined ? 0 : estimateTokens(instruction);
}

/** Tokens of the window that are free beside the taken ones and the answer; negative when that is too much. */
function freeTokens(taken: number, limits: HistoryLimits): number {
  return sendableTokens(limits) - taken - instructionTokens(limits);
}

function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}

function exchanges(stored: readonly StoredMessage[]): Exchange[] {
  const pairs: Exchange[] = [];
  let question: ChatMessage | undefined;
  for (const { role, content, steps = [] } of stored) {
    if (role === 'user') question = { role, content };
    else if (role === 'assistant' && question && typeof content === 'string') {
      if (content === '' && steps.length === 0) continue;
      pairs.push(exchangeOf(question, content, steps));
      question = undefined;
    }
  }
  return pairs;
}

function exchangeOf(
  question: ChatMessage,
  content: string,
  steps: readonly StoredStep[],
): Exchange {
  const texts = content === '' ? undefined : [question, answerOf(content)];
  if (texts && steps.length === 0) return { texts, messages: texts };
  const last = textAfter(steps, content);
  if (last === undefined) return { texts, messages: texts ?? [] };
  const calls = steps.flatMap(stepMessages).map(withoutNumbers);
  return { texts, messages: [question, ...calls, answerOf(last === '' ? INTERRUPTED : last)] };
}

/** Numbers of fragments count in their own turn: a later answer must not cite them. */
function withoutNumbers(message: ChatMessage): ChatMessage {
  if (message.role !== 'tool') return message;
  return { ...message, content: message.content.replaceAll(NUMBERED_FRAGMENT, '<fragment ') };
}

function answerOf(content: string): ChatMessage {
  return { role: 'assistant', content };
}
