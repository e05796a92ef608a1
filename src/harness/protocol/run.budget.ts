/** What a run may use up; 0 means without a limit of its own. Frozen when the run is created. */
export interface RunBudget {
  /** Turns of the model. */
  readonly maxIterations: number;
  readonly maxToolCalls: number;
  readonly maxInputTokens: number;
  readonly maxOutputTokens: number;
  /** Time in which the run was held by a process; waiting does not count. */
  readonly maxWallTimeMillis: number;
}
