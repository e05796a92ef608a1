/** The conversation does not fit the model's window, although it was compacted. */
export class ContextOverflowError extends Error {
  override readonly name = 'ContextOverflowError';

  constructor(tokens: number, limit: number) {
    super(
      `About ${tokens} tokens would have to be sent to the model, and its window takes ${limit}. Start a new run with a smaller task, fewer files at once or shorter skills, or with a model of a larger window.`,
    );
  }
}

/** The stored messages break the rule that every tool call has exactly one result before the model is asked again. */
export class UnpairedCallError extends Error {
  override readonly name = 'UnpairedCallError';
}
