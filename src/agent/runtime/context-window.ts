import { ToolMessage } from '@langchain/core/messages';
import type { BaseMessage } from '@langchain/core/messages';
import { toChatMessages } from '../../langchain/index.js';
import { estimateMessageTokens } from '../../model/index.js';

const REMOVED =
  '[The result was removed, because the conversation is longer than the model can read. Call the tool again, for less, if you need it.]';

export function tokensOf(messages: readonly BaseMessage[]): number {
  return toChatMessages(messages).reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}

/** The messages without the oldest tool results as far as needed for `tokens`; the newest ones go last. */
export function withinTokens(messages: BaseMessage[], tokens: number): BaseMessage[] {
  let excess = tokensOf(messages) - tokens;
  if (excess <= 0) return messages;
  return messages.map((message) => {
    if (excess <= 0 || !ToolMessage.isInstance(message)) return message;
    const { tool_call_id, name = '', status = 'success' } = message;
    const short = new ToolMessage({ tool_call_id, name, status, content: REMOVED });
    const saved = tokensOf([message]) - tokensOf([short]);
    if (saved <= 0) return message;
    excess -= saved;
    return short;
  });
}
