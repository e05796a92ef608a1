import { describe, expect, it } from '@jest/globals';
import { english, msg } from '../../platform/message/index.js';
import type { PastCall } from '../../effect/index.js';
import { UpstreamError } from '../../provider/index.js';
import { HarnessRun } from '../store/harness.entity.js';
import { budgetEnd, loopEnd, LOOP_WINDOW, loopVerdict, refusalEnd } from './run.ending.js';

function call(name: string, over: Partial<PastCall> = {}): PastCall {
  return {
    toolName: name,
    argumentsSha256: name,
    iteration: 1,
    state: 'SUCCEEDED',
    errorCode: null,
    ...over,
  };
}

const read = call('read');
const search = call('search');
const change = call('edit');
const invalid = (name: string): PastCall => call(name, { state: 'INVALID' });
const refused = (name: string): PastCall =>
  call(name, { state: 'INVALID', errorCode: 'TOOL_NOT_OFFERED' });

/** The calls so many times, one an answer. */
function times(count: number, ...calls: PastCall[]): PastCall[] {
  return oneByOne(Array.from({ length: count }, () => calls).flat());
}

/** Each call as an answer of its own. */
function oneByOne(calls: readonly PastCall[]): PastCall[] {
  return calls.map((one, index) => ({ ...one, iteration: index + 1 }));
}

/** So many answers with all of the calls in each. */
function answers(count: number, ...calls: PastCall[]): PastCall[] {
  return Array.from({ length: count }, (_, index) =>
    calls.map((one) => ({ ...one, iteration: index + 1 })),
  ).flat();
}

describe('the guard against loops', () => {
  it('says nothing of calls that get on', () => {
    expect(loopVerdict([])).toEqual({});
    expect(loopVerdict([read, search, call('list'), read])).toEqual({});
  });

  it.each([
    [2, undefined, undefined],
    [3, 3, undefined],
    [4, 4, undefined],
    [5, undefined, 5],
    [9, undefined, 9],
  ])('the same call %i times: warned at %s, stopped at %s', (count, warned, stopped) => {
    const verdict = loopVerdict([search, ...times(count, read)]);

    expect(verdict.warning?.count).toBe(warned);
    expect(verdict.stop?.count).toBe(stopped);
    if (warned ?? stopped) expect((verdict.warning ?? verdict.stop)?.kind).toBe('identical_call');
  });

  it.each([
    ['identical_call', Array.from({ length: 16 }, () => read), 5],
    ['alternating_calls', Array.from({ length: 8 }, () => [read, search]).flat(), 6],
    ['invalid_input', ['a', 'b', 'c', 'd', 'e', 'f'].map(invalid), 5],
    ['refused_call', ['a', 'b', 'c', 'd', 'e', 'f'].map(refused), 5],
  ] as const)('%s: all calls of an answer count once', (kind, calls, stop) => {
    const [one, warned, stopped] = [1, stop - 1, stop].map((count) =>
      loopVerdict(answers(count, ...calls).slice(-LOOP_WINDOW)),
    );
    expect(one).toEqual({});
    expect(warned).toEqual({ warning: { kind, count: stop - 1, limit: stop } });
    expect(stopped).toEqual({ stop: { kind, count: stop, limit: stop } });
  });

  it('a call of another kind in between begins anew', () => {
    expect(loopVerdict([...times(4, read), search, ...times(2, read)])).toEqual({});
  });

  it('begins anew once a file was changed: tests are run again', () => {
    expect(loopVerdict([...times(4, read), change, ...times(2, read)])).toEqual({});
  });

  it('the same change again and again is a loop, whether it succeeds or not', () => {
    expect(loopVerdict(times(5, change)).stop?.kind).toBe('identical_call');
    expect(loopVerdict(times(5, call('edit', { state: 'FAILED' }))).stop?.count).toBe(5);
    expect(loopVerdict(times(6, change, read)).stop?.kind).toBe('alternating_calls');
  });

  it('other arguments make another call', () => {
    const reads = ['a', 'b', 'c', 'd', 'e'].map((argumentsSha256) =>
      call('read', { argumentsSha256 }),
    );
    expect(loopVerdict(oneByOne(reads))).toEqual({});
  });

  it.each([
    [3, undefined, undefined],
    [4, 4, undefined],
    [6, undefined, 6],
  ])('two calls in turns, %i times: warned at %s, stopped at %s', (count, warned, stopped) => {
    const verdict = loopVerdict([call('list'), ...times(count, read, search)]);

    expect(verdict.warning?.count).toBe(warned);
    expect(verdict.stop?.count).toBe(stopped);
    if (stopped) expect(verdict.stop?.kind).toBe('alternating_calls');
  });

  it.each([
    [2, undefined, undefined],
    [3, 3, undefined],
    [5, undefined, 5],
  ])('%i invalid calls in a row: warned at %s, stopped at %s', (count, warned, stopped) => {
    const calls = Array.from({ length: count }, (_, index) => invalid(`tool ${index}`));
    const verdict = loopVerdict(oneByOne([read, ...calls]));

    expect(verdict.warning?.count).toBe(warned);
    expect(verdict.stop?.count).toBe(stopped);
  });

  it('invalid calls are refused ones when each was of a tool that is not offered', () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].map(refused);
    const all = loopVerdict(oneByOne([read, ...calls]));
    expect(all.stop).toMatchObject({ kind: 'refused_call', count: 5 });
    const four = loopVerdict(oneByOne(calls.slice(1)));
    expect(four.warning).toMatchObject({ kind: 'refused_call', count: 4 });
    const mixed = loopVerdict(oneByOne([...calls.slice(1), invalid('no_such_tool')]));
    expect(mixed.stop).toMatchObject({ kind: 'invalid_input', count: 5 });
    expect(loopVerdict(times(5, refused('shell'))).stop?.kind).toBe('refused_call');
  });

  it('a good call ends a row of invalid ones', () => {
    const calls = ['a', 'b', 'c', 'd'].map(invalid);
    expect(loopVerdict(oneByOne([...calls, search]))).toEqual({});
  });
});

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
    expect(end?.error && english(end.error.message)).toContain('start a new run');
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
    expect(loopEnd('refused_call').stopReason).toBe('CALLS_REFUSED');
  });

  it.each([
    ['authentication', 'MODEL_AUTH'],
    ['not-found', 'MODEL_NOT_FOUND'],
    ['invalid-request', 'MODEL_REFUSED'],
  ] as const)('a service that says %s ends it as %s', (kind, stopReason) => {
    const message = msg`The service refuses.`;
    expect(refusalEnd(new UpstreamError({ kind, message }))).toMatchObject({
      stopReason,
      error: { message },
    });
  });
});
