import { describe, expect, it } from '@jest/globals';
import { Catalogue, languageOf } from './translation.js';
import { allOf, anyOf, either, msg, phrase, sentences } from './message.js';

const catalogue = new Catalogue({
  messages: {
    'Done.': '操作成功。',
    'The model {0} is disabled. Enable it.': '模型 {0} 已停用。请启用。',
    '{0} was not found. It may have been deleted.': '未找到{0:phrase}，可能已被删除。',
    '{0} It said: {1}': '{0:message}对方返回：{1}',
    '{0}: {1}': '{0}：{1:message}',
    'Row {0}: {1}': '第 {0} 行：{1:message}',
    '$property must be one of {0}': '$property 必须是以下之一：{0}',
    '$property must have at most {0} characters': '$property 最多允许 {0} 个字符',
    '$property {0}': '$property {0:phrase}',
    '{0} of {1} files were not stored.': '{1} 个文件中有 {0} 个未能保存。',
    'The file {0} was already uploaded{1}.': '文件 {0} 已上传{1:phrase}。',
    'You need {0}.': '您需要{0:phrase}。',
  },
  phrases: {
    'The agent': '智能体',
    'must be six digits': '必须是六位数字',
    ' as {0}': '（{0}）',
    '{0} or {1}': '{0:phrase} 或 {1:phrase}',
    '{0}, or {1}': '{0} 或 {1:phrase}',
    '{0} and {1}': '{0:phrase} 和 {1:phrase}',
  },
});

describe('the catalogue', () => {
  it.each([
    ['a text without values', msg`Done.`, '操作成功。'],
    [
      'a value',
      msg`The model ${'a.b (c)'} is disabled. Enable it.`,
      '模型 a.b (c) 已停用。请启用。',
    ],
    ['a number', msg`Row ${7}: ${msg`Done.`}`, '第 7 行：操作成功。'],
    [
      'a phrase',
      msg`${phrase`The agent`} was not found. It may have been deleted.`,
      '未找到智能体，可能已被删除。',
    ],
    [
      'a phrase that it does not know',
      msg`${'What'} was not found. It may have been deleted.`,
      '未找到What，可能已被删除。',
    ],
    [
      'the words of another program',
      msg`${msg`The model ${'m'} is disabled. Enable it.`} It said: ${'No. Try it, or not; really.'}`,
      '模型 m 已停用。请启用。对方返回：No. Try it, or not; really.',
    ],
    [
      'several sentences',
      sentences([
        msg`${1} of ${2} files were not stored.`,
        msg`${'a. b, c.pdf'}: ${msg`The model ${'m'} is disabled. Enable it.`}`,
      ]),
      '2 个文件中有 1 个未能保存。a. b, c.pdf：模型 m 已停用。请启用。',
    ],
    [
      'problems of several fields, of which one lists words',
      [
        'kind must be one of a, b, c',
        'budget.name must have at most 5 characters',
        'code must be six digits',
      ].join(', '),
      'kind 必须是以下之一：a, b, c；budget.name 最多允许 5 个字符；code 必须是六位数字',
    ],
    ['an empty value', msg`The file ${'x'} was already uploaded${''}.`, '文件 x 已上传。'],
    [
      'a phrase that begins with a space',
      msg`The file ${'x'} was already uploaded${phrase` as ${'y'}`}.`,
      '文件 x 已上传（y）。',
    ],
    ['one of a choice', msg`You need ${either(['a'])}.`, '您需要a。'],
    ['a choice of two', msg`You need ${either(['a', 'b'])}.`, '您需要a 或 b。'],
    ['a choice of three', msg`You need ${either(['a', 'b', 'c'])}.`, '您需要a, b 或 c。'],
    ['alternatives', msg`You need ${anyOf(['a', 'b', 'c'])}.`, '您需要a 或 b 或 c。'],
    ['a list', msg`You need ${allOf(['a', 'b'])}.`, '您需要a 和 b。'],
  ])('translates %s', (_, text, translation) => {
    expect(catalogue.translate(text)).toBe(translation);
  });

  it.each([
    ['an unknown text', 'The moon is up.'],
    ['a text that a template with a name and a message could make', 'Error: connect ECONNREFUSED'],
    ['a message with something behind it', 'Done. The moon is up.'],
    ['a message with something before it', 'The moon is up. Done.'],
    ['a message with a reason that it does not know', msg`Row ${1}: ${'The moon is up.'}`],
    ['an empty text', ''],
  ])('leaves %s', (_, text) => {
    expect(catalogue.translate(text)).toBeUndefined();
  });

  it('reads a text with very many places where it could be divided', () => {
    const words = Array.from({ length: 3_000 }, (_value, at) => `w${at}`).join(', ');
    expect(catalogue.translate(`kind must be one of ${words}`)).toBe(
      `kind 必须是以下之一：${words}`,
    );
    expect(catalogue.translate(`${words}. `.repeat(50))).toBeUndefined();
  });

  it.each([
    ['messages in messages', Array.from({ length: 24 }, () => 'a: b: c It said: x').join(', ')],
    ['messages in many sentences', 'a: b It said: Row 1: x. '.repeat(24)],
    ['a choice without end', `You need ${'a or '.repeat(3_000)}a.`],
    ['a text without end', 'Row 1: '.repeat(100_000)],
  ])('gives up %s', (_, text) => {
    expect(catalogue.translate(text)).toBeUndefined();
  });

  it('writes English as Intl.ListFormat does', () => {
    const format = new Intl.ListFormat('en', { type: 'disjunction' });
    for (const words of [['a'], ['a', 'b'], ['a', 'b', 'c', 'd']]) {
      expect(either(words)).toBe(format.format(words));
    }
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
