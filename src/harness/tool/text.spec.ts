import { describe, expect, it } from '@jest/globals';
import { placesOf, TextLines } from './tool.js';

describe('TextLines', () => {
  it.each([
    ['', [], []],
    ['\n', [''], ['\n']],
    ['a\r\n\nb', ['a', '', 'b'], ['\r\n', '\n', '']],
    ['a\r\r\n\r', ['a\r', '\r'], ['\r\n', '']],
    ['\r\n\r\n', ['', ''], ['\r\n', '\r\n']],
  ])('are those of %j', (text, expected, ends) => {
    const lines = new TextLines(text);
    expect([...lines]).toEqual(expected);
    expect(expected.map((_, index) => lines.end(index))).toEqual(ends);
    expect(expected.map((_, index) => lines.part(index, index + 1)).join('')).toBe(text);
  });

  it('have nothing before and behind them', () => {
    const lines = new TextLines('a\nb\n');
    expect([lines.end(-1), lines.end(2), lines.at(2), lines.part(2)]).toEqual(['', '', '', '']);
    expect(lines.slice(1, 9)).toEqual(['b']);
    expect(lines.start(9)).toBe(4);
  });

  it('take four bytes each', () => {
    const text = '\n'.repeat(4 * 2 ** 20);
    const before = process.memoryUsage().heapUsed;
    const lines = new TextLines(text);
    expect(lines).toHaveLength(text.length);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(16 * 2 ** 20);
  });
});

describe('placesOf', () => {
  it('finds the lines that are wanted, unless they are in too many places', () => {
    const many = Array.from({ length: 51 }, () => 'x');
    const places = placesOf(['a', 'b', 'a', ...many], ['a', 'x', 'c']);
    expect(['a', 'x', 'c'].map(places)).toEqual([[0, 2], [], []]);
  });
});
