import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import {
  keyPermissionCatalogue,
  permissionCatalogue,
} from '../../src/platform/access/permission.catalogue.js';

const SOURCES = 'web/src';
const PLURAL = /_(zero|one|two|few|many|other)$/;

const areas = readdirSync(SOURCES).filter((area) =>
  existsSync(join(SOURCES, area, 'texts.en.json')),
);
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
  .map((name) => readSource(join(SOURCES, name)));

/** What a file may take its texts by. */
interface Source {
  readonly namespaces: ReadonlySet<string>;
  readonly literals: ReadonlySet<string>;
  /** Templates with a placeholder, as patterns. */
  readonly templates: readonly RegExp[];
}

function readSource(path: string): Source {
  const tree = ts.createSourceFile(
    path,
    readFileSync(path, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
    ts.ScriptKind.TSX,
  );
  // A function of an area may be given its texts by who calls it.
  const namespaces = new Set([basename(dirname(path))]);
  const literals = new Set<string>();
  const templates: RegExp[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === 'useTranslation') {
      const [first] = node.arguments;
      namespaces.add(first && ts.isStringLiteralLike(first) ? first.text : 'app');
    }
    if (ts.isStringLiteralLike(node)) literals.add(node.text);
    if (ts.isTemplateExpression(node)) {
      const parts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
      const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      templates.push(new RegExp(`^${escaped.join('.+')}$`));
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { namespaces, literals, templates };
}

function keysOf(value: object, above = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null
      ? keysOf(inner, `${above}${name}.`)
      : [`${above}${name}`],
  );
}

function texts(area: string, language: string): object {
  return JSON.parse(readFileSync(join(SOURCES, area, `texts.${language}.json`), 'utf8')) as object;
}

/** Keys without the ending that counts, each once. */
function stems(area: string, language: string): string[] {
  return [...new Set(keysOf(texts(area, language)).map((key) => key.replace(PLURAL, '')))].sort();
}

function isUsed(area: string, key: string): boolean {
  return files.some(({ namespaces, literals, templates }) => {
    const here =
      namespaces.has(area) && (literals.has(key) || templates.some((one) => one.test(key)));
    return here || literals.has(`${area}:${key}`);
  });
}

describe('the texts of the console', () => {
  it.each(areas)('of %s are the same keys in both languages', (area) => {
    expect(stems(area, 'zh')).toEqual(stems(area, 'en'));
  });

  it.each(areas)('of %s count in English with one and other', (area) => {
    const keys = keysOf(texts(area, 'en'));
    const counting = keys.filter((key) => key.endsWith('_other'));
    expect(counting.filter((key) => !keys.includes(key.replace(PLURAL, '_one')))).toEqual([]);
  });

  it.each(areas)('of %s are all used', (area) => {
    expect(stems(area, 'en').filter((key) => !isUsed(area, key))).toEqual([]);
  });

  it.each(areas)('of %s have the same placeholders in both languages', (area) => {
    const placeholders = (language: string): Map<string, string> => {
      const found = new Map<string, Set<string>>();
      const add = (value: object, above: string): void => {
        for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
          // One of something may be named where several are counted.
          if (name.endsWith('_one')) continue;
          const key = `${above}${name}`.replace(PLURAL, '');
          if (typeof inner === 'string') {
            const names = [...inner.matchAll(/\{\{(\w+)\}\}/g)].map(([, one]) => one ?? '');
            // How many there are may be said by the form of the word alone.
            const kept = names.filter((one) => one !== 'count');
            found.set(key, new Set([...(found.get(key) ?? []), ...kept]));
          } else add(inner as object, `${above}${name}.`);
        }
      };
      add(texts(area, language), '');
      return new Map([...found].map(([key, names]) => [key, [...names].sort().join()]));
    };
    expect(Object.fromEntries(placeholders('zh'))).toEqual(Object.fromEntries(placeholders('en')));
  });

  it('of the home page name every place of work', () => {
    const navigation = readFileSync(join(SOURCES, 'app', 'navigation.ts'), 'utf8');
    const [, work = ''] = /const WORK[^=]*= \[(.*?)\];/s.exec(navigation) ?? [];
    const names = [...work.matchAll(/entry\('[^']*', '(\w+)'/g)].map(([, name]) => name);
    const { shortcuts } = texts('home', 'en') as { shortcuts: object };

    expect(names).toContain('home');
    expect(Object.keys(shortcuts).sort()).toEqual(names.filter((name) => name !== 'home').sort());
  });

  it('of the roles name every permission', () => {
    const { permission } = texts('administration', 'en') as { permission: object };
    const all = [...permissionCatalogue, ...keyPermissionCatalogue];
    const keys = all.map((one) => one.permission.replaceAll(':', '_'));

    expect(Object.keys(permission).sort()).toEqual(keys.sort());
  });

  it('of the dictionary name every built-in type and entry', () => {
    const seed = readFileSync('src/dictionary/dictionary.seed.ts', 'utf8');
    const page = readFileSync(join(SOURCES, 'administration', 'dictionary-words.ts'), 'utf8');
    const all = (text: string, pattern: RegExp): (string | undefined)[] =>
      [...text.matchAll(pattern)].map(([, one]) => one);
    const types = all(seed, /dictType: '(\w+)'/g);
    const labels = [...all(seed, /dictName: '([^']+)'/g), ...all(seed, /\['[^']*', '([^']+)'/g)];
    const [, words = ''] = /const WORDS[^{]*\{(.*?)\n\};/s.exec(page) ?? [];

    expect(types).toHaveLength(7);
    expect(types.filter((type) => !page.includes(`'${type}',`))).toEqual([]);
    expect(all(words, /^ {2}'?([^':]+)'?: '/gm).sort()).toEqual([...new Set(labels)].sort());
  });
});
