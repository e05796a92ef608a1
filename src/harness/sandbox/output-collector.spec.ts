import { describe, expect, it } from '@jest/globals';
import { OutputCollector, WHOLE_OUTPUT_BYTES } from './sandbox.run.js';

function collected(...pieces: (string | Buffer)[]): OutputCollector {
  const collector = new OutputCollector();
  for (const piece of pieces) collector.add(Buffer.from(piece));
  return collector;
}

describe('OutputCollector', () => {
  it('keeps what is short', () => {
    const collector = collected('one ', '', 'two');
    expect(collector.whole().toString()).toBe('one two');
    expect(collector).toMatchObject({ total: 7, discarding: false });
    expect(collector.head(3).toString()).toBe('one');
    expect(collector.tail(3).toString()).toBe('two');
    expect(collector.tail(100).toString()).toBe('one two');
    expect(collected().whole()).toHaveLength(0);
  });

  it('keeps exactly 5 MiB', () => {
    const full = collected(Buffer.alloc(WHOLE_OUTPUT_BYTES - 1, 'a'), 'b');
    expect(full.discarding).toBe(false);
    expect(full.whole()).toHaveLength(WHOLE_OUTPUT_BYTES);
    full.add(Buffer.from('c'));
    expect(full.discarding).toBe(true);
    expect(
      full
        .whole()
        .subarray(WHOLE_OUTPUT_BYTES - 1)
        .toString(),
    ).toBe('b\n[The output went on; 1 more bytes were discarded.]\n');
    expect(full.tail(3).toString()).toBe('abc');
  });

  it('takes a piece that is partly too much, and keeps its end', () => {
    const collector = collected(Buffer.alloc(WHOLE_OUTPUT_BYTES + 100_000, 'x'), 'the end');
    expect(collector.total).toBe(WHOLE_OUTPUT_BYTES + 100_007);
    expect(collector.tail(10).toString()).toBe('xxxthe end');
    expect(collector.tail(1_000_000)).toHaveLength(32 * 1_024);
  });

  it('takes many small pieces', () => {
    const collector = new OutputCollector();
    const piece = Buffer.from('0123456789');
    for (let index = 0; index < 600_000; index += 1) collector.add(piece);
    expect(collector.total).toBe(6_000_000);
    expect(collector.tail(12).toString()).toBe('890123456789');
  });
});
