import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { Linter } from 'eslint';
import type { Rule } from 'eslint';

const rules = join(resolve(import.meta.dirname, '..', '..'), 'scripts', 'lint', 'plain-words.mjs');
const { plainWords } = (await import(pathToFileURL(rules).href)) as { plainWords: Rule.RuleModule };

function wordsIn(code: string): readonly string[] {
  const config = [
    { plugins: { plinth: { rules: { words: plainWords } } }, rules: { 'plinth/words': 'error' } },
  ] satisfies Linter.Config[];
  return new Linter().verify(code, config).map(({ message }) => message.split('"')[1] ?? message);
}

it.each([
  ['a comment', '// Nobody reads it.', ['nobody']],
  ['a phrase over two lines of a comment', '/** What broke\n * off. */', ['broke off']],
  ['a string', 'export const text = "Load the plan anew.";', ['anew']],
  ['a template', 'export const text = (n) => `${n}: somebody`;', ['somebody']],
  ['a parameter', 'export const read = function (asker) {};', ['asker']],
  ['a function', 'export function carryOut() {}', ['carryOut']],
  ['a method', 'export class Turn { letGo() {} }', ['letGo']],
])('plain-words finds a word in %s', (_, code, words) => {
  expect(wordsIn(code)).toEqual(words);
});

it('plain-words leaves parts of words and uses of names alone', () => {
  expect(wordsIn('export const mended = renew(recommend.told()); // amend')).toEqual([]);
});
