import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { displayName, suffixOf } from './file-type.js';

describe('displayName', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Übersicht – 報告.docx', 'Übersicht – 報告.docx'],
    ['C:\\Users\\me\\secret.txt', 'secret.txt'],
    ['../../etc/passwd', 'passwd'],
    ['a\r\nSet-Cookie: x=1.txt', 'aSet-Cookie_ x=1.txt'],
    ['photo\u202egpj.exe', 'photogpj.exe'],
    ['what?*"<>|.txt', 'what______.txt'],
    ['nul\0.txt', 'nul.txt'],
    ['cafe\u0301.txt', 'caf\u00e9.txt'],
    ['', 'file'],
    ['..', 'file'],
    ['folder/', 'file'],
    ['.env', '.env'],
  ])('shows %j as %j', (sent, shown) => {
    expect(displayName(sent)).toBe(shown);
  });

  it('cuts a long name before its suffix', () => {
    const shown = displayName(`${'ä'.repeat(400)}.docx`);
    expect(shown).toBe(`${'ä'.repeat(250)}.docx`);
  });

  it('fits the column and holds no separator, whatever is sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (sent) => {
        const shown = displayName(sent);
        expect([...shown].length).toBeGreaterThan(0);
        expect([...shown].length).toBeLessThanOrEqual(255);
        // A control character in a pattern would look like a mistake.
        expect([...shown].some((c) => c < ' ' || c === '/' || c === '\\')).toBe(false);
      }),
    );
  });
});

describe('suffixOf', () => {
  it.each([
    ['a.PDF', '.PDF'],
    ['a.tar.gz', '.gz'],
    ['README', ''],
    ['.env', ''],
    ['a.', ''],
    [`a.${'x'.repeat(30)}`, ''],
  ])('finds in %j the suffix %j', (name, suffix) => {
    expect(suffixOf(name)).toBe(suffix);
  });
});
