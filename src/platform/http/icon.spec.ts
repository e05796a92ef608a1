import { describe, expect, it } from '@jest/globals';
import { ICON } from './input.js';

describe('an icon', () => {
  it.each([
    '',
    'https://example.com/icon.png',
    'HTTP://example.com/a:b',
    '//example.com/icon.png',
    '/icons/a.svg',
    'icons/a:b.png',
    '?name=a:b',
    '1985312345678901250',
    'walrus.png',
    'Our support bot',
    'Bot: helper',
    'lucide:bot',
    'database: all of it',
    'data:image/png;base64,AAAA',
    'data:image/webp,x',
  ])('can be %j', (icon) => {
    expect(ICON.pattern.test(icon)).toBe(true);
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    '\u0001javascript:alert(1)',
    'java\nscript:alert(1)',
    'java\tscript\t:alert(1)',
    'javascript://example.com/%0aalert(1)',
    'vbscript:x',
    'data:text/html,<script>alert(1)</script>',
    'data:image/svg+xml,<svg onload="alert(1)"/>',
    'data:image/pngx,a',
    'data:,x',
    'blob:https://example.com/1',
    'file:///etc/passwd',
  ])('cannot be %j', (icon) => {
    expect(ICON.pattern.test(icon)).toBe(false);
  });
});
