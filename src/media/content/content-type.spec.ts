import { describe, expect, it, test } from '@jest/globals';
import { heads } from '../../../test/support/media/file-heads.js';
import { contentType } from './content-type.js';

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
