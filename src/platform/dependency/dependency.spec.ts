import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Dependency } from './dependency.js';

const PROBE_MS = 1_000;

let dependency: Dependency;
let changes: boolean[];

beforeEach(() => {
  jest.useFakeTimers();
  dependency = new Dependency('queue');
  changes = [];
  dependency.onChange((isUp) => changes.push(isUp));
});

afterEach(() => {
  dependency.close();
  jest.useRealTimers();
});

const failure = new Error('It does not answer.');

describe('a dependency', () => {
  it('is taken down by the first failure and up by the next call that succeeds', () => {
    dependency.failed(failure);
    dependency.failed(failure);
    expect([dependency.isUp, changes]).toEqual([false, [false]]);

    jest.advanceTimersByTime(1);
    dependency.succeeded();
    dependency.succeeded();
    expect([dependency.isUp, changes]).toEqual([true, [false, true]]);
  });

  it('is not changed by calls that began before its last change', () => {
    jest.advanceTimersByTime(10);
    const before = performance.now();
    jest.advanceTimersByTime(10);
    dependency.failed(failure);
    dependency.succeeded(before);
    expect(dependency.isUp).toBe(false);

    const during = performance.now();
    jest.advanceTimersByTime(10);
    dependency.succeeded();
    dependency.failed(failure, during);
    expect([dependency.isUp, changes]).toEqual([true, [false, true]]);
  });

  it('is probed while it is down, one probe at a time, and not while it is up', async () => {
    const probes: PromiseWithResolvers<undefined>[] = [];
    dependency.probeWith(() => {
      const probe = Promise.withResolvers<undefined>();
      probes.push(probe);
      return probe.promise;
    });
    await jest.advanceTimersByTimeAsync(60 * PROBE_MS);
    expect(probes).toHaveLength(0);

    dependency.failed(failure);
    await jest.advanceTimersByTimeAsync(10 * PROBE_MS);
    expect(probes).toHaveLength(1);
    probes[0]?.reject(failure);
    await jest.advanceTimersByTimeAsync(10 * PROBE_MS);
    expect([probes.length, dependency.isUp]).toEqual([2, false]);
    probes[1]?.resolve(undefined);
    await jest.advanceTimersByTimeAsync(60 * PROBE_MS);
    expect([probes.length, dependency.isUp]).toEqual([2, true]);
  });

  it('is probed while it is up where it is told to, so that an outage shows without a call', async () => {
    let works = true;
    dependency.probeWith(() => (works ? Promise.resolve() : Promise.reject(failure)), {
      everyMs: 5 * PROBE_MS,
    });
    await jest.advanceTimersByTimeAsync(20 * PROBE_MS);
    works = false;
    await jest.advanceTimersByTimeAsync(5 * PROBE_MS);
    works = true;
    await jest.advanceTimersByTimeAsync(PROBE_MS);
    expect(changes).toEqual([false, true]);
  });

  it('is left alone once it is closed', async () => {
    let probes = 0;
    dependency.probeWith(() => Promise.resolve((probes += 1)));
    dependency.failed(failure);
    dependency.close();
    await jest.advanceTimersByTimeAsync(10 * PROBE_MS);
    dependency.succeeded();
    expect([probes, changes]).toEqual([0, [false]]);
  });
});
