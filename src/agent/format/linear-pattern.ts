import { RE2JS } from 're2js';

/** Matcher of texts. */
export interface Pattern {
  test(text: string): boolean;
}

const WHITE_SPACE = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NOT_WHITE_SPACE = String.raw`\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;

/** Syntax that RE2 interprets differently from JavaScript with the flag u. */
const OUTSIDE: Readonly<Record<string, string>> = {
  '.': String.raw`[^\n\r\x{2028}\x{2029}]`,
  '[]': String.raw`[^\x00-\x{10ffff}]`,
  '[^]': String.raw`[\x00-\x{10ffff}]`,
  '\\s': `[${WHITE_SPACE}]`,
  '\\S': `[^${WHITE_SPACE}]`,
};
/** Syntax that RE2 interprets differently inside a character class. */
const INSIDE: Readonly<Record<string, string>> = { '\\s': WHITE_SPACE, '\\S': NOT_WHITE_SPACE };

const SURROGATES = String.raw`\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}`;
const CODE_POINT = String.raw`\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4}|\\c[a-zA-Z]`;
const CHARACTER = String.raw`${SURROGATES}|${CODE_POINT}|\\[pP]\{[^}]*\}|\\.|.`;
const NEXT_OUTSIDE = new RegExp(
  String.raw`\(\?<[^=!>][^>]*>|\(\?:|\(\?|\[\^?\]|\[\^?|${CHARACTER}`,
  'suy',
);
const NEXT_INSIDE = new RegExp(CHARACTER, 'suy');

/**
 * A regular expression of JavaScript with the flag u. Its time is linear in the text, whatever the pattern, but for patterns
 * that RE2 does not know: lookarounds, references to groups, and more than 1,000 repetitions. Those backtrack. Throws a
 * SyntaxError.
 */
export function patternOf(source: string): Pattern {
  const backtracking = new RegExp(source, 'u');
  const translated = toRe2(source);
  if (translated === undefined) return backtracking;
  try {
    return RE2JS.compile(translated);
  } catch {
    return backtracking;
  }
}

/** The same pattern in the syntax of RE2; undefined where it has none. Groups capture nothing. */
function toRe2(source: string): string | undefined {
  let translated = '';
  let isInClass = false;
  let at = 0;
  while (at < source.length) {
    const next: RegExp = isInClass ? NEXT_INSIDE : NEXT_OUTSIDE;
    next.lastIndex = at;
    const token: string | undefined = next.exec(source)?.[0];
    if (token === undefined) return undefined;
    at += token.length;
    if (isInClass) {
      translated += INSIDE[token] ?? character(token);
      isInClass = token !== ']';
    } else if (token === '(?' || /^\\[1-9k]/.test(token)) return undefined;
    else {
      translated += token.startsWith('(?') ? '(?:' : (OUTSIDE[token] ?? character(token));
      isInClass = token === '[' || token === '[^';
    }
  }
  return translated;
}

function character(token: string): string {
  if (token.startsWith('\\c')) return codePoint(token.charCodeAt(2) % 32);
  if (token.startsWith('\\u')) {
    const [high = 0, low] = [...token.matchAll(/[\da-f]+/gi)].map(([digits]) =>
      parseInt(digits, 16),
    );
    if (low === undefined) return codePoint(high);
    return codePoint((high - 0xd8_00) * 0x4_00 + (low - 0xdc_00) + 0x1_00_00);
  }
  return token;
}

function codePoint(code: number): string {
  return `\\x{${code.toString(16)}}`;
}
