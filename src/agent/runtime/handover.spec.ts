import { describe, expect, it } from '@jest/globals';
import { Handover } from './handover.js';

describe('Handover', () => {
  it('lets the work go on when its value was dealt with', async () => {
    const handover = new Handover<string>();
    const events: string[] = [];
    const work = (async (): Promise<void> => {
      for (const value of ['one', 'two']) {
        await handover.put(value);
        events.push(`after ${value}`);
      }
      handover.end();
    })();
    for await (const value of handover.read()) {
      await Promise.resolve();
      events.push(value);
    }
    await work;
    expect(events).toEqual(['one', 'after one', 'two', 'after two']);
  });

  it('ends with the first error, after the values that are there', async () => {
    const handover = new Handover<string>();
    const put = handover.put('one');
    handover.end({ error: new Error('first') });
    handover.end();
    const read = handover.read();
    expect(await read.next()).toEqual({ done: false, value: 'one' });
    await expect(read.next()).rejects.toThrow('first');
    await put;
  });

  it('refuses values when the reader has left', async () => {
    const handover = new Handover<string>();
    const puts = [handover.put('one'), handover.put('two')];
    const outcomes = Promise.allSettled(puts);
    for await (const value of handover.read()) {
      expect(value).toBe('one');
      break;
    }
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(handover.put('three')).rejects.toThrow('The answer is not read any more.');
  });
});
