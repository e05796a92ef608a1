import { describe, expect, it } from '@jest/globals';
import { UpstreamError } from '../../provider/index.js';
import { HarnessRun } from '../store/harness.entity.js';
import { budgetEnd, loopEnd, refusalEnd } from './run.ends.js';

const budget = {
  maxIterations: 10,
  maxToolCalls: 20,
  maxInputTokens: 300,
  maxOutputTokens: 400,
  maxWallTimeMillis: 5_000,
};

function run(over: Partial<HarnessRun>): HarnessRun {
  const used = { iteration: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, activeMs: 0 };
  return Object.assign(new HarnessRun(), { budget, ...used, ...over });
}

describe('the budget of a run', () => {
  it.each([
    [{ iteration: 10 }, 'MAX_STEPS'],
    [{ toolCalls: 20 }, 'MAX_TOOL_CALLS'],
    [{ inputTokens: 300 }, 'MAX_TOKENS'],
    [{ outputTokens: 401 }, 'MAX_TOKENS'],
    [{ activeMs: 4_000 }, 'MAX_WALL_TIME'],
  ])('%j ends it as %s', (used, stopReason) => {
    const end = budgetEnd(run(used), 1_000);

    expect(end).toMatchObject({ status: 'FAILED', stopReason, error: { code: stopReason } });
    expect(end?.error?.message).toContain('start a new run');
  });

  it('ends nothing while there is some left', () => {
    expect(
      budgetEnd(run({ iteration: 9, toolCalls: 19, inputTokens: 299, activeMs: 3_999 }), 1_000),
    ).toBeUndefined();
  });

  it('0 is no limit', () => {
    const none = { ...budget, maxIterations: 0, maxWallTimeMillis: 0 };
    expect(budgetEnd(run({ budget: none, iteration: 1_000, activeMs: 1e9 }), 0)).toBeUndefined();
  });
});

describe('an end for another reason', () => {
  it('tells loops from answers that cannot be used', () => {
    expect(loopEnd('identical_call').stopReason).toBe('LOOP_DETECTED');
    expect(loopEnd('alternating_calls').stopReason).toBe('LOOP_DETECTED');
    expect(loopEnd('invalid_input').stopReason).toBe('FORMAT_ERRORS');
    expect(loopEnd('format').stopReason).toBe('FORMAT_ERRORS');
  });

  it.each([
    ['authentication', 'MODEL_AUTH'],
    ['not-found', 'MODEL_NOT_FOUND'],
    ['invalid-request', 'MODEL_REFUSED'],
  ] as const)('a service that says %s ends it as %s', (kind, stopReason) => {
    const message = 'The service refuses.';
    expect(refusalEnd(new UpstreamError({ kind, message }))).toMatchObject({
      stopReason,
      error: { message },
    });
  });
});
