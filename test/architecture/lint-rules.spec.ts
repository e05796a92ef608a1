import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

const root = resolve(import.meta.dirname, '..', '..');
const plugin = pathToFileURL(join(root, 'scripts', 'lint', 'plugin.mjs')).href;
const { rules } = ((await import(plugin)) as { default: { rules: Record<string, Rule> } }).default;

RuleTester.describe = describe;
RuleTester.it = it;
const tester = new RuleTester({ languageOptions: { parserOptions: { lang: 'ts' } } });

function run(name: string, cases: Parameters<RuleTester['run']>[2]): void {
  const rule = rules[name];
  if (!rule) throw new Error(`There is no rule ${name}.`);
  tester.run(name, rule, cases);
}

/** What is found, by its name in quotes, and nothing else. */
const words = (...found: string[]) =>
  found.map((word) => ({ message: new RegExp(`^Do not write "${word}"`) }));

run('plain-words', {
  invalid: [
    { name: 'a comment', code: '// Nobody reads it.', errors: words('nobody') },
    {
      name: 'a phrase over two lines of a comment',
      code: '/** What broke\n * off. */',
      errors: words('broke off'),
    },
    {
      name: 'a string',
      code: 'export const text = "Load the plan anew.";',
      errors: words('anew'),
    },
    {
      name: 'a template',
      code: 'export const text = (n) => `${n}: somebody`;',
      errors: words('somebody'),
    },
    {
      name: 'a parameter',
      code: 'export const read = function (asker) {};',
      errors: words('asker'),
    },
    { name: 'a function', code: 'export function carryOut() {}', errors: words('carryOut') },
    { name: 'a method', code: 'export class Turn { letGo() {} }', errors: words('letGo') },
  ],
  valid: [
    {
      name: 'parts of words and uses of names',
      code: 'export const mended = renew(recommend.told()); // amend',
    },
  ],
});

run('decorated-types', {
  invalid: [
    {
      name: 'a type import',
      code: "import type { Dto } from './dto.js'; class C { a(@Body() body: Dto) {} }",
      errors: [{ messageId: 'typeOnly' }],
    },
    {
      name: 'a type among values',
      code: "import { type Dto } from './dto.js'; class C { a(@Query() query: Dto) {} }",
      errors: [{ messageId: 'typeOnly' }],
    },
  ],
  valid: [
    {
      name: 'a value import',
      code: "import { Dto } from './dto.js'; class C { a(@Body() body: Dto) {} }",
    },
    {
      name: 'a parameter without a decorator',
      code: "import type { Dto } from './dto.js'; class C { a(body: Dto) {} }",
    },
  ],
});

run('restricted-syntax', {
  invalid: [
    {
      name: 'what a selector matches, once for each',
      code: 'export const f = (a, b) => (c) => a;',
      options: [
        { selector: 'ArrowFunctionExpression[params.length>1]', message: 'Too many.' },
        { selector: 'Program', message: 'A program.' },
      ],
      errors: [{ message: 'A program.' }, { message: 'Too many.' }],
    },
  ],
  valid: [
    {
      name: 'other nodes',
      code: 'export const f = (a) => a;',
      options: [{ selector: 'ArrowFunctionExpression[params.length>1]', message: 'Too many.' }],
    },
  ],
});

it('no file switches a rule off', () => {
  const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
  const linted = execFileSync(process.execPath, [oxlint, '--debug=files'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = linted.split('\n').filter(Boolean);
  expect(files).toContain('test/architecture/lint-rules.spec.ts');
  const directive = new RegExp(['oxlint', '(disable|enable)'].join('-'));
  expect(files.filter((file) => directive.test(readFileSync(join(root, file), 'utf8')))).toEqual(
    [],
  );
});
