import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { RuleTester } from 'oxlint/plugins-dev';

type Rule = Parameters<RuleTester['run']>[1];

const root = resolve(import.meta.dirname, '..', '..');
const oxlint = join(root, 'node_modules', 'oxlint', 'bin', 'oxlint');
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
    {
      name: 'a participle as a name',
      code: 'export const read = (known) => { const found = known.value; return found; };',
      errors: ['known', 'found'].map((word) => ({ message: new RegExp(`variable "${word}"`) })),
    },
    {
      name: 'a comment without a subject',
      code: '/** Of a request. */',
      errors: [{ message: /begin a comment with "Of"/ }],
    },
    { name: 'a function', code: 'export function carryOut() {}', errors: words('carryOut') },
    { name: 'a method', code: 'export class Turn { letGo() {} }', errors: words('letGo') },
  ],
  valid: [
    {
      name: 'parts of words and uses of names',
      code: 'export const mended = renew(recommend.told()); // amend',
    },
    {
      name: 'a field with the name of the wire',
      code: 'export const view = { kept: 1, found: 2 }; /** Tokens of a request. */',
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

interface Diagnostic {
  readonly filename: string;
  readonly message: string;
  readonly help?: string;
}

/** Texts of files that each break one rule of oxlint.config.ts, by the path and the message of the rule. */
const PLANTED = [
  ['src/media/a.ts', /outbound/, "export const a = fetch('http://a');"],
  ['src/media/b.ts', /outbound/, "export const b = globalThis.fetch('http://a');"],
  ['src/media/c.ts', /outbound/, 'export const { fetch: c } = globalThis;'],
  ['src/main.ts', /outbound/, "export const d = globalThis['fetch']('http://a');"],
  ['src/media/e.ts', /SQL lives/, 'export const e = " DELETE FROM a";'],
  ['src/media/f.ts', /SQL lives/, 'export const f = database.query("WITH x AS (TABLE a)");'],
  ['src/media/g.ts', /SQL lives/, 'export class G { g() { this.database.repository(G); } }'],
  [
    'src/media/h.ts',
    /limits and records/,
    "export { ChatAdapterRegistry } from '../provider/index.js';",
  ],
  [
    'src/model/calls/i.ts',
    /limits and records/,
    "import type { MediaAdapterRegistry } from '../../provider/index.js'; export const i: MediaAdapterRegistry[] = [];",
  ],
] as const;

it('each planted file is refused by the rule that it breaks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-lint-'));
  try {
    for (const name of ['oxlint.config.ts', 'tsconfig.json']) {
      copyFileSync(join(root, name), join(folder, name));
    }
    for (const name of ['node_modules', 'scripts'])
      symlinkSync(join(root, name), join(folder, name));
    for (const [path, , text] of PLANTED) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), `${text}\n`);
    }
    const { stdout } = spawnSync(process.execPath, [oxlint, '--format=json', 'src'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] };
    for (const [path, message] of PLANTED) {
      const found = diagnostics.filter(({ filename }) => filename === path);
      expect([path, found.map((one) => `${one.message} ${one.help ?? ''}`)]).toEqual([
        path,
        expect.arrayContaining([expect.stringMatching(message)]),
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('no file switches a rule off', () => {
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
