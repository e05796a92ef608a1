import { describe, expect, it } from '@jest/globals';
import { typeOf } from '../../platform/storage/index.js';
import { refusalOf } from './file-refusal.js';

function refusal(hex: string, name: string): string | undefined {
  return refusalOf({ name, mimeType: typeOf(Buffer.from(hex, 'hex'), name) });
}

describe('refusalOf', () => {
  it.each([
    ['89504e470d0a1a0a', 'a.txt', /^Images .* OCR/],
    ['ffd8ffe0', 'scan.pdf', /^Images .* OCR/],
    ['494433', 'a.md', /^Audio and video .* transcript/],
    ['0000001866747970', 'a.docx', /^Audio and video .* transcript/],
    ['504b030414', 'a.zip', /^Archives .* Unpack/],
    ['504b030414', 'a', /^Archives .* Unpack/],
    ['1f8b0800', 'a.tar.gz', /^Archives .* Unpack/],
    ['377abcaf271c', 'a.docx', /^Archives .* Unpack/],
    ['504b030414', 'a.pptx', /^PowerPoint .* PDF/],
    ['504b030414', 'a.epub', /^EPUB .* PDF/],
  ])('refuses %s named %s', (hex, name, reason) => {
    expect(refusal(hex, name)).toMatch(reason);
  });

  it.each([
    ['255044462d312e37', 'a.pdf'],
    ['504b030414', 'a.docx'],
    ['504b030414', 'A.XLSX'],
    ['504b030414', 'a.docm'],
    // Their parsing fails with a reason that depends on what is inside.
    ['d0cf11e0a1b11ae1', 'a.doc'],
    ['d0cf11e0a1b11ae1', 'a.xlsx'],
    // Text of an older encoding or UTF-16; whether it is one shows when it is read.
    ['c4e3bac3', 'a.txt'],
    ['fffe4100', 'a.csv'],
    ['68656c6c6f', 'a.unknown'],
    ['', 'empty.txt'],
  ])('lets %s named %s be tried', (hex, name) => {
    expect(refusal(hex, name)).toBeUndefined();
  });
});
