import { describe, expect, it } from '@jest/globals';
import { typeOf } from './file-type.js';

const OCTETS = 'application/octet-stream';
const TEXT = 'text/plain; charset=utf-8';

describe('typeOf', () => {
  it.each([
    ['89504e470d0a1a0a0000000d', 'a.txt', 'image/png'],
    ['ffd8ffe000104a464946', 'a.png', 'image/jpeg'],
    ['474946383961', 'a', 'image/gif'],
    ['524946460000000057454250', 'a', 'image/webp'],
    ['524946460000000057415645', 'a', 'audio/wav'],
    ['255044462d312e37', 'a.html', 'application/pdf'],
    ['0000001866747970', 'a', 'video/mp4'],
    ['504b030414', 'a.png', 'application/zip'],
    [
      '504b030414',
      'a.DOCX',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ],
    ['', 'empty', TEXT],
    ['00ff', 'a.txt', OCTETS],
    ['ff41', 'a.txt', OCTETS],
  ])('reads %s named %s as %s', (bytes, name, type) => {
    expect(typeOf(Buffer.from(bytes, 'hex'), name)).toBe(type);
  });

  it.each(['<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', '<!doctype html>'])(
    'takes markup for plain text: %s',
    (markup) => {
      expect(typeOf(Buffer.from(markup), 'image.png')).toBe(TEXT);
    },
  );

  it('takes text for text when the head ends in the middle of a character', () => {
    expect(typeOf(Buffer.from('größe').subarray(0, 3), 'a')).toBe(TEXT);
  });
});
