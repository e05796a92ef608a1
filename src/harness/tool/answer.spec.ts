import { describe, expect, it } from '@jest/globals';
import { TimeLimit } from './tool.js';

const never = new AbortController().signal;

describe('a time limit', () => {
  it('ends work, and tells a model so', async () => {
    const time = new TimeLimit(never, 0.5);
    time.check();
    expect(time.isOver).toBe(false);
    await new Promise((resolve) => time.signal.addEventListener('abort', resolve));
    expect(time.isOver).toBe(true);
    expect(() => {
      time.check();
    }).toThrow(expect.objectContaining({ code: 'TIMED_OUT' }));
  });

  it('hands on why the outer signal has ended', () => {
    const time = new TimeLimit(AbortSignal.abort(new Error('cancelled')), 10);
    expect(time.signal.aborted).toBe(true);
    expect(time.isOver).toBe(false);
    expect(() => {
      time.check();
    }).toThrow('cancelled');
  });
});
