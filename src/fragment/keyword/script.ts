/** The writing systems whose words PostgreSQL can stem, in blocks of Unicode; every other one is `other`. */
export type Script =
  'latin' | 'greek' | 'cyrillic' | 'armenian' | 'arabic' | 'devanagari' | 'tamil' | 'other';

const RANGES: readonly (readonly [from: number, to: number, script: Script])[] = [
  [0x41, 0x24f, 'latin'],
  [0x370, 0x3ff, 'greek'],
  [0x400, 0x52f, 'cyrillic'],
  [0x531, 0x58f, 'armenian'],
  [0x600, 0x77f, 'arabic'],
  [0x8a0, 0x8ff, 'arabic'],
  [0x900, 0x97f, 'devanagari'],
  [0xb80, 0xbff, 'tamil'],
  [0x1e00, 0x1eff, 'latin'],
  [0x1f00, 0x1fff, 'greek'],
];

/** Script of a word: that of its first character which is no ASCII digit. */
export function scriptOf(word: string): Script {
  for (let at = 0; at < word.length; at += 1) {
    const code = word.charCodeAt(at);
    if (code < 0x41) continue;
    if (code < 0x250) return 'latin';
    return RANGES.find(([from, to]) => code >= from && code <= to)?.[2] ?? 'other';
  }
  return 'other';
}
