import { describe, expect, it } from '@jest/globals';
import { clientSoftware } from './request.js';

const BLINK = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0';
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5';

describe('clientSoftware', () => {
  it.each([
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${BLINK} Safari/537.36`,
      'Chrome 129',
      'Windows 10',
    ],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${BLINK} Safari/537.36 Edg/129.0.0.0`,
      'Microsoft Edge 129',
      'Windows 10',
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Safari/605.1.15`,
      'Safari 17',
      'macOS 10.15.7',
    ],
    [
      'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
      'Firefox 131',
      'Linux',
    ],
    [
      `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${BLINK} Mobile Safari/537.36`,
      'Chrome 129',
      'Android 14',
    ],
    ['curl/8.5.0', 'curl 8.5.0', null],
    ['x'.repeat(400), 'x'.repeat(50), null],
    ['  ', null, null],
    [undefined, null, null],
  ])('reads %j', (header, browser, os) => {
    expect(clientSoftware(header)).toEqual({ browser, os });
  });
});
