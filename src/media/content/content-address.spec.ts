import { describe, expect, it, test } from '@jest/globals';
import { contentAddress } from './content-address.js';

const HOST = 'media.example.com';
const hosts = [HOST, 'videos.example.com'] as const;

describe('an address of the fixed host', () => {
  test.each([
    `https://${HOST}`,
    `https://${HOST}/`,
    `https://${HOST}/a/b.png?Expires=1&Signature=a%2Fb#`.replace('#', ''),
    `https://${HOST}:443/a.png`,
    `https://MEDIA.Example.com/a.png`,
    `https://${HOST}?x=1`,
    `https://${HOST}/@b/c:d`,
  ])('%s', (address) => {
    expect(contentAddress(address, 'image', { hosts })).toBe(address);
    expect(new URL(address).host).toBe(HOST);
  });

  it('is that of the category', () => {
    const video = 'https://videos.example.com/a.mp4';
    expect(contentAddress(video, 'video', { hosts })).toBe(video);
    expect(contentAddress(`https://${HOST}/a.mp3`, 'audio', { hosts })).toContain(HOST);
    expect(() => contentAddress(video, 'image', { hosts })).toThrow('category image');
    expect(() => contentAddress(video, 'audio', { hosts })).toThrow('category audio');
    expect(() => contentAddress(`https://${HOST}/a.mp4`, 'video', { hosts })).toThrow(
      'category video',
    );
  });
});

const refusals: readonly (readonly [string, string])[] = [
  ['another host', 'https://evil.example/a.png'],
  ['a host that begins with it', `https://${HOST}.evil.example/a.png`],
  ['a host that ends with it', `https://evil-${HOST}/a.png`],
  ['a host below it', `https://a.${HOST}/a.png`],
  ['a trailing dot', `https://${HOST}./a.png`],
  ['a user name', `https://user@${HOST}/a.png`],
  ['a password', `https://:secret@${HOST}/a.png`],
  ['the host as user name', `https://${HOST}@evil.example/a.png`],
  ['the host and port as user', `https://${HOST}:443@evil.example/a.png`],
  ['the host before a fragment', `https://${HOST}#@evil.example/`],
  ['a fragment', `https://${HOST}/a.png#x`],
  ['an empty fragment', `https://${HOST}/a.png#`],
  ['a backslash', `https:\\\\${HOST}\\a.png`],
  ['a backslash behind the host', `https://${HOST}\\@evil.example/a.png`],
  ['a backslash in the path', `https://${HOST}/a\\b`],
  ['http', `http://${HOST}/a.png`],
  ['ftp', `ftp://${HOST}/a.png`],
  ['a file', 'file:///etc/passwd'],
  ['data', 'data:image/png;base64,AAAA'],
  ['no scheme', `//${HOST}/a.png`],
  ['three slashes', `https:///${HOST}/a.png`],
  ['no slashes', `https:${HOST}/a.png`],
  ['another port', `https://${HOST}:8443/a.png`],
  ['port 80', `https://${HOST}:80/a.png`],
  ['port 0', `https://${HOST}:0/a.png`],
  ['an empty port', `https://${HOST}:/a.png`],
  ['punycode', 'https://xn--mdia-9oa.example.com/a.png'],
  ['letters that look alike', 'https://mеdia.example.com/a.png'],
  ['full-width letters', 'https://ｍｅｄｉａ.example.com/a.png'],
  ['an ideographic full stop', 'https://media。example.com/a.png'],
  ['a soft hyphen', 'https://me\u00addia.example.com/a.png'],
  ['an encoded dot', 'https://media%2eexample.com/a.png'],
  ['an IPv4 address', 'https://127.0.0.1/a.png'],
  ['an IPv4 address as a number', 'https://2130706433/a.png'],
  ['an IPv4 address in octal', 'https://0177.0.0.1/a.png'],
  ['an IPv6 address', 'https://[::1]/a.png'],
  ['a mapped address', 'https://[::ffff:127.0.0.1]/a.png'],
  ['white space before it', ` https://${HOST}/a.png`],
  ['white space in it', `https://${HOST}/a b`],
  ['a tab in the host', 'https://media.exam\tple.com/a.png'],
  ['a line feed at its end', `https://${HOST}/a.png\n`],
  ['nothing', ''],
];

describe('an address that is refused', () => {
  test.each(refusals)('%s', (_, address) => {
    const check = (): unknown => contentAddress(address, 'image', { hosts });
    expect(check).toThrow('The resource’s address is refused');
    expect(check).not.toThrow(/evil|media\.example/);
  });
});
