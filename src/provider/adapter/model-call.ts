/** Where a model lives, as its record holds it. */
export interface ModelConnection {
  readonly address: string;
  readonly credential?: string;
  /** Version header of the messages protocol. */
  readonly protocolVersion?: string;
}

/** All in milliseconds; idle and total do not run while back-pressure holds the stream. */
export interface CallLimits {
  readonly connectMs: number;
  /** Longest silence, before the first byte and between bytes. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** The signal and the limits end a call. */
export interface ModelCallOptions {
  readonly limits: CallLimits;
  readonly signal: AbortSignal;
}

/** Token counts; unknown is undefined, never 0. */
export interface Usage {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** What the service sent. */
  readonly raw: unknown;
}
