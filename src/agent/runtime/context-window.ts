import { ToolMessage } from '@langchain/core/messages';
import type { BaseMessage } from '@langchain/core/messages';
import { toChatMessages } from '../../langchain/index.js';
import { estimateMessageTokens, REMOVED_RESULT, withoutOldResults } from '../../model/index.js';
import type { TokenCounter } from '../../model/index.js';

/** Counts the messages of one turn; each of them once. */
export class ContextWindow {
  private readonly tokenCounts = new WeakMap<BaseMessage, number>();

  constructor(readonly counter: TokenCounter) {}

  tokensOf(messages: readonly BaseMessage[]): number {
    return messages.reduce((sum, message) => sum + this.tokensOfOne(message), 0);
  }

  /** The messages without the oldest tool results as far as needed for `tokens`; the newest ones go last. */
  within(messages: BaseMessage[], tokens: number): BaseMessage[] {
    const excess = this.tokensOf(messages) - tokens;
    if (excess <= 0) return messages;
    return withoutOldResults<BaseMessage>(messages, excess, {
      tokensOf: (message) => this.tokensOfOne(message),
      shorten: (message) => {
        if (!ToolMessage.isInstance(message)) return undefined;
        const { tool_call_id, name = '', status = 'success' } = message;
        return new ToolMessage({ tool_call_id, name, status, content: REMOVED_RESULT });
      },
    });
  }

  private tokensOfOne(message: BaseMessage): number {
    const cachedCount = this.tokenCounts.get(message);
    if (cachedCount !== undefined) return cachedCount;
    const { counter } = this;
    const tokens = toChatMessages([message]).reduce(
      (sum, one) => sum + estimateMessageTokens(one, (text) => counter.count(text)),
      0,
    );
    this.tokenCounts.set(message, tokens);
    return tokens;
  }
}
