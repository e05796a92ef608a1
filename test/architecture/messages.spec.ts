import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { chinese, parts } from '../../src/platform/message/chinese/index.js';

const root = resolve(import.meta.dirname, '..', '..');

interface TemplateUse {
  readonly template: string;
  readonly place: string;
}

/** Properties of options that hold a message; where nothing but a string is asked for, the compiler sees no missing tag. */
const NAMES = new Set(['message', 'patternMessage', 'missing', 'defaultMessage']);
const DECORATED = /\.dto\.ts$|\/platform\/http\//;

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map((name) => join(root, 'src', name));

function read(path: string): { readonly uses: TemplateUse[]; readonly untagged: string[] } {
  const text = readFileSync(path, 'utf8');
  const uses: TemplateUse[] = [];
  const untagged: string[] = [];
  if (!/\bmsg`/.test(text) && !DECORATED.test(path)) return { uses, untagged };
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const placeOf = (node: ts.Node): string => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    return `${relative(root, path)}:${line + 1}`;
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText(source) === 'msg') {
      uses.push({ template: templateOf(node.template), place: placeOf(node) });
    }
    if (DECORATED.test(path) && isUntagged(node)) untagged.push(placeOf(node));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { uses, untagged };
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

const files = sources.map(read);
const uses = files.flatMap((file) => file.uses);
const entries = parts.flatMap((part) => Object.entries(part));

/** Whether it has words. Punctuation alone can be the same in every language. */
const hasWords = (template: string): boolean => /\p{L}/u.test(template);

function placesOf(text: string): string[] {
  return [...new Set(text.match(/\{\d+\}/g))].sort();
}

describe('the catalogue of messages', () => {
  it('reads the sources', () => {
    expect(uses.length).toBeGreaterThan(1_000);
    expect(uses.map(({ template }) => template)).toContain('The knowledge base');
  });

  it('has every message of the sources', () => {
    const missing = uses
      .filter(({ template }) => hasWords(template) && !chinese.has(template))
      .map(({ template, place }) => {
        const folder = place.split('/')[1] ?? '';
        return `${place}: add ${JSON.stringify(template)} to src/platform/message/chinese/${folder}.ts`;
      });
    expect(missing).toEqual([]);
  });

  it('has none that the sources have not', () => {
    const templates = new Set(uses.map(({ template }) => template));
    const unused = entries
      .filter(([template]) => !templates.has(template))
      .map(([template]) => `remove ${JSON.stringify(template)}`);
    expect(unused).toEqual([]);
  });

  it('has each of them once', () => {
    const templates = entries.map(([template]) => template);
    expect(templates.filter((one, at) => templates.indexOf(one) !== at)).toEqual([]);
  });

  it('has the places of each template in its translation', () => {
    const differing = entries.filter(
      ([template, text]) => placesOf(template).join() !== placesOf(text).join(),
    );
    expect(differing).toEqual([]);
  });

  it('ends a sentence where the template does', () => {
    const differing = entries.filter(
      ([template, text]) =>
        template.endsWith('.') && !/[。！？]$/.test(text) && !template.endsWith('..'),
    );
    expect(differing).toEqual([]);
  });

  it('is asked for every message of a field', () => {
    const untagged = files.flatMap((file) => file.untagged);
    expect(untagged.map((place) => `${place}: write the message as msg\`…\``)).toEqual([]);
  });
});
