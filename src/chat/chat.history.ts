import { estimateMessageTokens, estimateTokens, sendableTokens } from '../model/index.js';
import type { ChatMessage } from '../provider/index.js';
import { MessageTooLongError } from './chat.errors.js';

export interface StoredMessage {
  readonly role: string;
  readonly content: string;
}

export interface HistoryLimits {
  readonly contextWindow: number | undefined;
  readonly maxAnswer: number | undefined;
  /** Sent first and never left out. */
  readonly systemPrompt?: string | undefined;
  /** Text that the adapter adds. */
  readonly instruction?: string | undefined;
}

/**
 * The messages for the model: the prompt of the agent, the newest stored exchanges that fit beside the question and the
 * answer, oldest first, and the question. An exchange without an answer is left out completely, so that roles alternate.
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
  let room = freeTokens(questionTokens, limits);
  const kept: ChatMessage[] = [];
  for (const exchange of exchanges(stored).reverse()) {
    room -= tokensOf(exchange);
    if (room < 0) break;
    kept.unshift(...exchange);
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

function exchanges(stored: readonly StoredMessage[]): ChatMessage[][] {
  const pairs: ChatMessage[][] = [];
  let question: ChatMessage | undefined;
  for (const { role, content } of stored) {
    if (role === 'user') question = { role, content };
    else if (role === 'assistant' && question && content !== '') {
      pairs.push([question, { role, content }]);
      question = undefined;
    }
  }
  return pairs;
}
