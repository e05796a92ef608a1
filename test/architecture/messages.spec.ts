import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { chinese, parts } from '../../src/platform/message/chinese/index.js';
import { translated } from '../../src/platform/message/index.js';

const root = resolve(import.meta.dirname, '..', '..');

interface Found {
  readonly kind: 'messages' | 'phrases';
  readonly template: string;
  readonly place: string;
}

const TAGS: Readonly<Record<string, Found['kind']>> = { msg: 'messages', phrase: 'phrases' };

/** Properties of options that hold a message; where nothing but a string is asked for, the compiler sees no missing tag. */
const NAMES = new Set(['message', 'patternMessage', 'missing', 'defaultMessage']);
const DECORATED = /\.dto\.ts$|\/platform\/http\//;

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map((name) => join(root, 'src', name));

function read(path: string): { readonly found: Found[]; readonly untagged: string[] } {
  const text = readFileSync(path, 'utf8');
  const found: Found[] = [];
  const untagged: string[] = [];
  if (!/\b(?:msg|phrase)`/.test(text) && !DECORATED.test(path)) return { found, untagged };
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const placeOf = (node: ts.Node): string => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    return `${relative(root, path)}:${line + 1}`;
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag)) {
      const kind = TAGS[node.tag.text];
      if (kind) found.push({ kind, template: templateOf(node.template), place: placeOf(node) });
    }
    if (DECORATED.test(path) && isUntagged(node)) untagged.push(placeOf(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { found, untagged };
}

function templateOf(literal: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(literal)) return literal.text;
  const spans = literal.templateSpans.map((span, index) => `{${index}}${span.literal.text}`);
  return literal.head.text + spans.join('');
}

function isUntagged(node: ts.Node): boolean {
  if (!ts.isPropertyAssignment(node) || !ts.isIdentifier(node.name)) return false;
  if (!NAMES.has(node.name.text)) return false;
  const { initializer } = node;
  const value = ts.isArrowFunction(initializer) ? initializer.body : initializer;
  return ts.isStringLiteralLike(value) || ts.isTemplateExpression(value);
}

const VALUE = /\{\d+(?::(?:message|phrase))?\}|\$property/g;

function valuesOf(text: string): string[] {
  return [...new Set(text.match(VALUE)?.map((value) => value.replace(/:\w+/, '')))].sort();
}

const read_ = sources.map(read);
const found = read_.flatMap((one) => one.found);
const templates = {
  messages: new Set(found.filter(({ kind }) => kind === 'messages').map((one) => one.template)),
  phrases: new Set(found.filter(({ kind }) => kind === 'phrases').map((one) => one.template)),
};
const entries = (['messages', 'phrases'] as const).flatMap((kind) =>
  Object.entries(chinese[kind]).map(([template, text]) => ({ kind, template, text })),
);

describe('the catalogue of messages', () => {
  it('reads the sources', () => {
    expect(templates.messages.size).toBeGreaterThan(500);
    expect(templates.phrases).toContain('The knowledge base');
  });

  it('has every message and phrase of the sources', () => {
    const missing = found
      .filter(({ kind, template }) => !Object.hasOwn(chinese[kind], template))
      .map(({ kind, template, place }) => {
        const folder = place.split('/')[1] ?? '';
        return `${place}: add ${JSON.stringify(template)} to ${kind} in src/platform/message/chinese/${folder}.ts`;
      });
    expect(missing).toEqual([]);
  });

  it('has none that the sources have not', () => {
    const unused = entries
      .filter(({ kind, template }) => !templates[kind].has(template))
      .map(({ kind, template }) => `remove ${JSON.stringify(template)} from ${kind}`);
    expect(unused).toEqual([]);
  });

  it('has each of them once', () => {
    const all = parts.flatMap(({ messages, phrases }) => [
      ...Object.keys(messages).map((template) => `message ${template}`),
      ...Object.keys(phrases).map((template) => `phrase ${template}`),
    ]);
    expect(all.filter((one, at) => all.indexOf(one) !== at)).toEqual([]);
  });

  it('has the values of each template in its translation', () => {
    const differing = entries.filter(
      ({ template, text }) => valuesOf(template).join() !== valuesOf(text).join(),
    );
    expect(differing).toEqual([]);
  });

  it('ends a sentence where the template does', () => {
    const differing = entries.filter(
      ({ template, text }) =>
        template.endsWith('.') && !/[。！？]$/.test(text) && !template.endsWith('..'),
    );
    expect(differing).toEqual([]);
  });

  it('has templates whose values can be told apart', () => {
    const touching = entries.filter(({ template }) =>
      /(?:\}|\$property)(?:\{\d|\$property)/.test(template),
    );
    expect(touching).toEqual([]);
  });

  it('finds the template of each message again', () => {
    const differing = entries
      .filter(({ kind }) => kind === 'messages')
      .map(({ template, text }) => {
        const value = (index: string | undefined): string =>
          index === undefined ? 'name' : sampleOf(text, index)[0];
        const english = template.replace(/\{(\d+)\}|\$property/g, (_, index?: string) =>
          value(index),
        );
        const expected = text.replace(/\{(\d+)(?::\w+)?\}|\$property/g, (_, index?: string) =>
          index === undefined ? 'name' : sampleOf(text, index)[1],
        );
        return { english, expected, actual: translated(english, 'zh-CN') };
      })
      .filter(({ expected, actual }) => expected !== actual);
    expect(differing).toEqual([]);
  });

  it('is asked for every message of a field', () => {
    const untagged = read_.flatMap((one) => one.untagged);
    expect(
      untagged.map((place) => `${place}: write the message as msg\`…\` or phrase\`…\``),
    ).toEqual([]);
  });
});

/** A value and what the translation has in its place. Without a space, which is all that there is between some values. */
function sampleOf(text: string, index: string): readonly [string, string] {
  if (text.includes(`{${index}:message}`)) return ['The service is restarting.', '服务正在重启。'];
  if (text.includes(`{${index}:phrase}`)) return ['must be six digits', '必须是六位数字'];
  return [`a.b-${index},c/d`, `a.b-${index},c/d`];
}
