import { describe, expect, it } from '@jest/globals';
import { shortened, visibleLine } from './visible-text.js';

describe('a visible line', () => {
  it.each([
    ['npm test', 'npm test'],
    ['  npm   test\t-v ', 'npm test -v'],
    ['echo ok\nrm -rf src', 'echo ok ⏎ rm -rf src'],
    ['echo ok\r\n  rm x\rls', 'echo ok ⏎ rm x ⏎ ls'],
    ['rm \u202etxt.a', 'rm ⟨U+202E⟩txt.a'],
    ['a\u001b[2Kb', 'a⟨U+001B⟩[2Kb'],
    ['a\u200bb', 'a⟨U+200B⟩b'],
    ['cat 日本語 🙂', 'cat 日本語 🙂'],
  ])('of %j is %j', (text, line) => {
    expect(visibleLine(text)).toBe(line);
  });

  it('says how much of its middle is left out', () => {
    expect(shortened('x'.repeat(100), 100)).toBe('x'.repeat(100));
    const command = `${'a'.repeat(200)}; rm -rf /`;
    const short = shortened(command, 40);
    expect(short).toContain('[…170 characters left out…]');
    expect(short.endsWith('; rm -rf /')).toBe(true);
  });
});
