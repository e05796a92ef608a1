import { describe, expect, it, test } from '@jest/globals';
import { heads } from '../../../test/support/media/file-heads.js';
import { contentAddress, contentType } from './content.checks.js';

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

describe('a resource of the category', () => {
  test.each([
    ['image', 'image/jpeg', 'jpeg'],
    ['image', 'image/png', 'png'],
    ['image', 'image/webp', 'webp'],
    ['image', 'image/gif', 'gif'],
    ['audio', 'audio/mpeg', 'mp3'],
    ['audio', 'audio/mpeg', 'taggedMp3'],
    ['audio', 'audio/wav', 'wav'],
    ['audio', 'audio/x-wav', 'wav'],
    ['audio', 'audio/ogg', 'ogg'],
    ['audio', 'audio/mp4', 'mp4'],
    ['audio', 'audio/flac', 'flac'],
    ['video', 'video/mp4', 'mp4'],
    ['video', 'video/webm', 'webm'],
  ] as const)('%s: %s', (type, declared, head) => {
    expect(contentType(type, declared, heads[head])).toBe(declared);
  });

  it('is handed on without the parameters of its type', () => {
    expect(contentType('image', ' Image/PNG; charset=binary', heads.png)).toBe('image/png');
  });
});

describe('a declared type that is refused', () => {
  test.each([
    ['image', 'video/mp4', 'mp4'],
    ['image', 'image/svg+xml', 'svg'],
    ['image', 'text/html', 'html'],
    ['image', 'application/octet-stream', 'png'],
    ['image', undefined, 'png'],
    ['image', '', 'png'],
    ['image', '__proto__', 'png'],
    ['image', 'constructor', 'png'],
    ['audio', 'video/mp4', 'mp4'],
    ['audio', 'audio/aac', 'aac'],
    ['video', 'image/png', 'png'],
    ['video', 'audio/mp4', 'mp4'],
  ] as const)('%s: %s', (type, declared, head) => {
    expect(() => contentType(type, declared, heads[head])).toThrow(
      `not declared as a type of category ${type}`,
    );
  });
});

describe('first bytes of something else', () => {
  test.each([
    ['image', 'image/png', 'jpeg'],
    ['image', 'image/png', 'html'],
    ['image', 'image/jpeg', 'svg'],
    ['audio', 'audio/wav', 'webp'],
    ['audio', 'audio/mpeg', 'aac'],
    ['audio', 'audio/mpeg', 'jpeg'],
    ['audio', 'audio/mpeg', 'html'],
    ['video', 'video/mp4', 'webm'],
  ] as const)('%s: %s that is %s', (type, declared, head) => {
    expect(() => contentType(type, declared, heads[head])).toThrow('of something else');
  });

  it('are too few to tell', () => {
    expect(() => contentType('image', 'image/png', heads.png.subarray(0, 3))).toThrow(
      'of something else',
    );
  });
});
