import { describe, expect, it } from '@jest/globals';
import type { PastCall } from '../store/effect.repository.js';
import { loopVerdict } from './loop.guard.js';

function call(name: string, over: Partial<PastCall> = {}): PastCall {
  return {
    toolName: name,
    argumentsSha256: name,
    iteration: 1,
    state: 'SUCCEEDED',
    ...over,
  };
}

const read = call('read');
const search = call('search');
const change = call('edit');
const invalid = (name: string): PastCall => call(name, { state: 'INVALID' });

function times(count: number, ...calls: PastCall[]): PastCall[] {
  return Array.from({ length: count }, () => calls).flat();
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
    expect(loopVerdict(reads)).toEqual({});
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
    const verdict = loopVerdict([read, ...calls]);

    expect(verdict.warning?.count).toBe(warned);
    expect(verdict.stop?.count).toBe(stopped);
  });

  it('a good call ends a row of invalid ones', () => {
    const calls = ['a', 'b', 'c', 'd'].map(invalid);
    expect(loopVerdict([...calls, search])).toEqual({});
  });
});
