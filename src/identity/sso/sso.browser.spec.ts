import { describe, expect, it } from '@jest/globals';
import { browserOf, cookieFor, ownPath } from './sso.browser.js';

const BROWSER = 'b'.repeat(43);

describe('the cookie of a sign-in', () => {
  const asked = (cookie: string) => ({ headers: { cookie } });

  it('belongs to this very host where there is TLS', () => {
    const base = 'https://ai.example.com/api';
    expect(cookieFor(base, BROWSER, 600)).toBe(
      `__Host-plinth_sso=${BROWSER}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(browserOf(asked(`a=b; __Host-plinth_sso=${BROWSER}`), base)).toBe(BROWSER);
    // Another host below the same domain could have set it.
    expect(browserOf(asked(`plinth_sso=${BROWSER}`), base)).toBeUndefined();
  });

  it('works without TLS', () => {
    const base = 'http://127.0.0.1:6039';
    expect(cookieFor(base, BROWSER, 600)).toBe(
      `plinth_sso=${BROWSER}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax`,
    );
    expect(browserOf(asked(`plinth_sso=short; plinth_sso=${BROWSER}`), base)).toBe(BROWSER);
    expect(browserOf({ headers: {} }, base)).toBeUndefined();
  });
});

it.each([
  ['/models?q=a#b', '/models?q=a#b'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['/a\\b', '/'],
  ['/a\tb', '/'],
  ['https://evil.example', '/'],
  ['', '/'],
  [undefined, '/'],
])('leads from %s to %s', (given, path) => {
  expect(ownPath(given)).toBe(path);
});
