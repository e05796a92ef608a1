/** What a run that waits for an answer has asked. */
export interface PendingQuestion {
  readonly toolCallId: string;
  readonly text: string;
  readonly options: readonly string[];
}
