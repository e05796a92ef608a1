import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Lease } from './lease.js';

const TIMES = { renewMs: 1_000, lostAfterMs: 3_000 };

let answers: (() => Promise<Error | undefined>)[];
let renewals: number;
let lease: Lease;

const renewed = async (): Promise<undefined> => undefined;
const failed = async (): Promise<never> => Promise.reject(new Error('The database is away.'));
const never = (): Promise<never> => new Promise(() => undefined);

function hold(...given: (() => Promise<Error | undefined>)[]): Lease {
  answers = given;
  renewals = 0;
  lease = new Lease(() => {
    renewals += 1;
    return (answers.shift() ?? renewed)();
  }, TIMES);
  return lease;
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(async () => {
  await lease.end();
  jest.useRealTimers();
});

describe('Lease', () => {
  it('renews itself until it is ended', async () => {
    hold();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(renewals).toBe(10);
    expect(lease.signal.aborted).toBe(false);
    await lease.end();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(renewals).toBe(10);
  });

  it('is lost for the reason that a renewal answers, and not renewed again', async () => {
    const reason = new Error('Another process has it.');
    hold(renewed, async () => reason);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(lease.signal.reason).toBe(reason);
    expect(renewals).toBe(2);
  });

  it('survives renewals that fail, but not for longer than its time', async () => {
    hold(failed, renewed, failed, failed, failed);
    await jest.advanceTimersByTimeAsync(4_900);
    expect(lease.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(lease.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('is lost when a renewal hangs, and does not wait for it', async () => {
    hold(never);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(lease.signal.aborted).toBe(true);
    await lease.end();
  });

  it('renews on request after the renewal that is under way', async () => {
    const first = Promise.withResolvers<undefined>();
    hold(() => first.promise);
    const requests = [lease.renewNow(), lease.renewNow()];
    await jest.advanceTimersByTimeAsync(0);
    expect(renewals).toBe(1);
    first.resolve(undefined);
    await Promise.all(requests);
    expect(renewals).toBe(2);
    expect(lease.ageMs).toBeLessThan(1_000);
  });
});
