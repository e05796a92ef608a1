/** CONTROL is the harness itself: it tells the model what happened, and speaks for nobody. */
export type MessageRole = 'USER' | 'ASSISTANT' | 'TOOL' | 'CONTROL';

export interface MessageToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface MessageUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}
