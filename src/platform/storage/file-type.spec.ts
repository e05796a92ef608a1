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
    ['424d3600000000000000', 'a', 'image/bmp'],
    ['49492a0008000000', 'a', 'image/tiff'],
    ['4d4d002a00000008', 'a', 'image/tiff'],
    ['524946460000000041564920', 'a', 'video/x-msvideo'],
    ['1a45dfa3', 'a.txt', 'video/webm'],
    ['664c6143', 'a', 'audio/flac'],
    ['1f8b0800', 'a', 'application/gzip'],
    ['377abcaf271c', 'a', 'application/x-7z-compressed'],
    ['526172211a0700', 'a', 'application/vnd.rar'],
    ['fd377a585a00', 'a', 'application/x-xz'],
    ['425a6839314159265359', 'a', 'application/x-bzip2'],
    [`${'00'.repeat(257)}7573746172`, 'a', 'application/x-tar'],
    ['d0cf11e0a1b11ae1', 'a.docx', 'application/x-ole-storage'],
    ['d0cf11e0a1b11ae1', 'a.DOC', 'application/msword'],
    ['d0cf11e0a1b11ae1', 'a.xls', 'application/vnd.ms-excel'],
    ['d0cf11e0a1b11ae1', 'a.ppt', 'application/vnd.ms-powerpoint'],
    ['d0cf11e0a1b11ae1', 'a.msg', 'application/vnd.ms-outlook'],
    ['504b030414', 'a.ods', 'application/vnd.oasis.opendocument.spreadsheet'],
    [Buffer.from('{\\rtf1 x}').toString('hex'), 'a.doc', 'application/rtf'],
    // Words that begin like a signature.
    [Buffer.from('BMW and BZh').toString('hex'), 'a', TEXT],
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
