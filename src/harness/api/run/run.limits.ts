import type { Config } from '../../../platform/config/index.js';
import type { RunBudget } from '../../protocol/run.values.js';

const MINUTE_MS = 60_000;

/** What was said to a run and may wait to be taken in. */
export const MOST_PENDING = 64;
export const MOST_PENDING_BYTES = 1024 * 1024;

/** What any run may use up. */
export function serverBudget(config: Config): RunBudget {
  return {
    maxIterations: config.HARNESS_MAX_STEPS,
    maxToolCalls: config.HARNESS_MAX_TOOL_CALLS,
    maxInputTokens: config.HARNESS_MAX_INPUT_TOKENS,
    maxOutputTokens: config.HARNESS_MAX_OUTPUT_TOKENS,
    maxWallTimeMillis: config.HARNESS_MAX_MINUTES * MINUTE_MS,
  };
}

/** The budget of a run: 0 and absent values mean the server's limit, and larger ones are cut to it. */
export function budgetOf(wanted: Partial<RunBudget>, limits: RunBudget): RunBudget {
  const within = (field: keyof RunBudget): number =>
    Math.min(wanted[field] || limits[field], limits[field]);
  return {
    maxIterations: within('maxIterations'),
    maxToolCalls: within('maxToolCalls'),
    maxInputTokens: within('maxInputTokens'),
    maxOutputTokens: within('maxOutputTokens'),
    maxWallTimeMillis: within('maxWallTimeMillis'),
  };
}
