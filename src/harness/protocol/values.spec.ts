import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { shortened, visibleLine } from './values.js';

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
    ['\n\n a \n\n\tb\n', 'a ⏎ b'],
    // No shell separates words at these.
    ['rm\u00a0-rf\u3000x', 'rm⟨U+00A0⟩-rf⟨U+3000⟩x'],
    ['\ufeffrm x\u2003', '⟨U+FEFF⟩rm x⟨U+2003⟩'],
    // What looks like a mark of the server
    ['echo a ⏎ rm b', 'echo a ⟨U+23CE⟩ rm b'],
    ['rm ⟨U+202E⟩txt', 'rm ⟨U+27E8⟩U+202E⟩txt'],
    ['rm […123 characters left out…] x', 'rm [⟨U+2026⟩123 characters left out…] x'],
    ['wait…', 'wait…'],
    // A sign as an emoji; the same code point where it changes nothing
    ['⚠\ufe0f Risk', '⚠\ufe0f Risk'],
    ['⚠\ufe0f\ufe0f 1\ufe0f 🙂\ufe0f', '⚠\ufe0f⟨U+FE0F⟩ 1⟨U+FE0F⟩ 🙂⟨U+FE0F⟩'],
  ])('of %j is %j', (text, line) => {
    expect(visibleLine(text)).toBe(line);
  });

  it.each([
    0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x2065, 0x2800, 0x3164, 0xfe0f, 0xfff0, 0xffa0,
    0x13441, 0x16fe4, 0x1d159, 0x1d173, 0xe0100, 0xe0fff,
  ])('shows the code point %i, which fonts draw as nothing', (code) => {
    const shown = `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    expect(visibleLine(`rm a${String.fromCodePoint(code)}b`)).toBe(`rm a${shown}b`);
  });

  it('holds no mark of the server but those that the server has put there', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom('⏎', '⟨', '[…'),
        (text, mark) => {
          const line = visibleLine(`a${text.replaceAll(/[\n\r\u2028\u2029]/g, '')}${mark}`);
          expect(line).not.toMatch(/⏎|\[…|⟨(?!U\+[\dA-F]{4,6}⟩)/u);
        },
      ),
    );
  });

  it('says how much of its middle is left out', () => {
    expect(shortened('x'.repeat(100), 100)).toBe('x'.repeat(100));
    const command = `${'a'.repeat(200)}; rm -rf /`;
    const short = shortened(command, 40);
    expect(short).toContain('[…170 characters left out…]');
    expect(short.endsWith('; rm -rf /')).toBe(true);
  });
});
