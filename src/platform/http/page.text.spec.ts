import { describe, expect, it } from '@jest/globals';
import { envelope, Page, pageText, withPauses } from './answer.js';

const LARGE = 'ä"\\'.repeat(100_000);

describe('the text of a page', () => {
  it.each([
    ['no row', []],
    ['small rows', [{ id: 1 }, { id: 2, name: 'two' }]],
    ['large rows', [{ text: LARGE }, { text: LARGE }, { id: 3 }]],
  ])('is the JSON of the envelope with %s', (_, rows) => {
    const page = new Page<object>(rows, 7);
    expect([...pageText(page)].join('')).toBe(JSON.stringify({ ...envelope(page), msg: 'Done.' }));
  });

  it('comes in parts of about the same size, and lets other work run between them', async () => {
    const rows = Array.from({ length: 40 }, () => ({ text: 'x'.repeat(100_000) }));
    const parts = pageText(new Page(rows, 40));
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const sizes: number[] = [];
    for await (const part of withPauses([], parts)) sizes.push(part.length);
    counting = false;

    expect(sizes.length).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThan(400_000);
    expect(turns).toBeGreaterThanOrEqual(sizes.length);
  });
});
