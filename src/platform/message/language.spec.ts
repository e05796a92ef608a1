import { describe, expect, it } from '@jest/globals';
import { languageOf } from './language.js';

describe('the language of a request', () => {
  it.each([
    ['zh-CN,zh;q=0.9,en;q=0.8'],
    ['zh'],
    ['ZH-hans'],
    ['zh_CN'],
    ['zh-Hant-TW;q=0.1'],
    ['de, zh;q=0.5, en;q=0.4'],
    ['en;q=0.5,zh;q=0.6'],
    ['en;q=0, zh'],
    ['en;q=x, zh;q=0.001'],
  ])('is Chinese for %s', (header) => {
    expect(languageOf(header)).toBe('zh-CN');
  });

  it.each([
    [undefined],
    [''],
    ['en-GB,en;q=0.9,zh;q=0.8'],
    ['*, zh;q=0.9'],
    ['zh;q=0'],
    ['zh;q=2'],
    ['zhx'],
    ['de-DE,fr'],
    ['en,zh'],
    [`${'de,'.repeat(50)}zh`],
  ])('is English for %s', (header) => {
    expect(languageOf(header)).toBe('en');
  });
});
