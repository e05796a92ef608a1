import { describe, expect, it } from '@jest/globals';
import {
  allOf,
  anyOf,
  clauses,
  either,
  english,
  enumeration,
  languageOf,
  literal,
  msg,
  sentences,
  textIn,
  withTexts,
} from './message.js';
import type { Message } from './message.js';

const RESTARTING = msg`The service is restarting.`;
const FAILED_FILES = msg`${1} of ${2} files were not stored.`;
const named = (name: string, message: Message): Message => msg`${name}: ${message}`;

describe('a message', () => {
  it.each([
    ['a text without values', RESTARTING, 'The service is restarting.', '服务正在重启。'],
    [
      'values, whatever is in them',
      msg`This file was already uploaded to the knowledge base${msg` as ${'{0} $& (c)'}`}. Do not upload it twice; to read it again, parse the existing document.`,
      'This file was already uploaded to the knowledge base as {0} $& (c). Do not upload it twice; to read it again, parse the existing document.',
      '该文件已上传到此知识库（{0} $& (c)）。请勿重复上传；如需重新读取，请重新解析已有的文档。',
    ],
    [
      'a message in it',
      msg`${msg`The document`} was not found. It may have been deleted.`,
      'The document was not found. It may have been deleted.',
      '未找到文档，可能已被删除。',
    ],
    [
      'sentences',
      sentences([FAILED_FILES, named('a. b, c.pdf', RESTARTING)]),
      '1 of 2 files were not stored. a. b, c.pdf: The service is restarting.',
      '2 个文件中有 1 个未能保存。a. b, c.pdf：服务正在重启。',
    ],
    [
      'clauses',
      clauses([msg`${'name'} is required`, msg`${'kind'} must be one of ${'a, b'}`]),
      'name is required, kind must be one of a, b',
      'name 为必填项；kind 必须是以下之一：a, b',
    ],
    ['one word', either(['a']), 'a', 'a'],
    ['a choice of two', either(['a', 'b']), 'a or b', 'a 或 b'],
    ['a choice of three', either(['a', 'b', 'c']), 'a, b, or c', 'a, b 或 c'],
    ['a choice of messages', either([msg`The file`, 'b']), 'The file or b', '文件 或 b'],
    ['words with commas', enumeration(['a', 'b', 'c']), 'a, b, c', 'a, b, c'],
    ['alternatives', anyOf(['a', 'b', 'c']), 'a or b or c', 'a 或 b 或 c'],
    ['a list', allOf(['a', 'b']), 'a and b', 'a 和 b'],
    ['a text of another program', literal('Done.'), 'Done.', 'Done.'],
    ['a template of another version', msg`It rains.`, 'It rains.', 'It rains.'],
  ])('with %s is written in both languages', (_, message, inEnglish, inChinese) => {
    expect(english(message)).toBe(inEnglish);
    expect(textIn('en', message)).toBe(inEnglish);
    expect(textIn('zh-CN', message)).toBe(inChinese);
  });

  it('is plain data, so that it is the same after it was stored or sent', () => {
    const message = sentences([FAILED_FILES, named('b.pdf', RESTARTING)]);
    expect(JSON.parse(JSON.stringify(message))).toEqual(message);
    expect(structuredClone(message)).toEqual(message);
  });

  it('can be stored whatever is in its values', () => {
    expect(english(msg`The file ${'a\0b\ud800'}`)).toBe('The file a\u{FFFD}b\u{FFFD}');
  });

  it('changes the texts of its values, and of those in them', () => {
    const message = named('secret', msg`Row ${7}: ${named('a secret', RESTARTING)}`);
    const masked = withTexts(message, (text) => text.replace('secret', '***'));
    expect(english(masked)).toBe('***: Row 7: a ***: The service is restarting.');
  });

  it('writes English choices as Intl.ListFormat does', () => {
    const format = new Intl.ListFormat('en', { type: 'disjunction' });
    for (const words of [['a'], ['a', 'b'], ['a', 'b', 'c', 'd']]) {
      expect(english(either(words))).toBe(format.format(words));
    }
  });
});

describe('many messages in one', () => {
  it('are as many as a body can have fields that are refused', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `field${index}`);
    const problems = names.map((name) => msg`${name} is required`);
    const text = names.map((name) => `${name} is required`).join(', ');
    expect(english(clauses(problems)) === text).toBe(true);
    expect(english(enumeration(names)) === names.join(', ')).toBe(true);
  });
});

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
