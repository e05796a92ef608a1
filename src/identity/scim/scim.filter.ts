import { msg } from '../../platform/message/index.js';
import { ScimError } from './scim.errors.js';

const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
type Operator = (typeof OPERATORS)[number];
export type Literal = string | number | boolean | null;

/** A filter of RFC 7644, 3.4.2.2. Paths are in lower case; a[b eq 1] is read as a.b eq 1. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'not'; readonly of: Filter }
  | { readonly kind: 'present'; readonly path: string }
  | {
      readonly kind: 'compare';
      readonly path: string;
      readonly operator: Operator;
      readonly value: Literal;
    };

/** Limit of a filter's length, which also bounds its depth and its number of comparisons. */
export const MAX_FILTER_CHARS = 1_000;
const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/;
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y;

/** Parses a filter. Throws ScimError for any other text. */
export function parseFilter(text: string): Filter {
  return new Parser(text).whole();
}

/** An attribute as this service names it: lower case, without the name of its schema. */
export function attributeName(name: string): string {
  return name.toLowerCase().replace(CORE, '');
}

/** Whether the value of a multi-valued attribute fits; `paths` of the filter begin with `prefix`. */
export function fits(
  filter: Filter,
  prefix: string,
  value: Readonly<Record<string, Literal | undefined>>,
): boolean {
  switch (filter.kind) {
    case 'and':
      return fits(filter.left, prefix, value) && fits(filter.right, prefix, value);
    case 'or':
      return fits(filter.left, prefix, value) || fits(filter.right, prefix, value);
    case 'not':
      return !fits(filter.of, prefix, value);
    case 'present':
      return value[filter.path.slice(prefix.length)] !== undefined;
    case 'compare': {
      const fieldValue = value[filter.path.slice(prefix.length)];
      if (filter.operator !== 'eq' && filter.operator !== 'ne') throw invalidFilter(filter.path);
      return equalIgnoringCase(fieldValue, filter.value) === (filter.operator === 'eq');
    }
  }
}

function equalIgnoringCase(value: Literal | undefined, expected: Literal): boolean {
  return String(value ?? null).toLowerCase() === String(expected).toLowerCase();
}

export function invalidFilter(near: string): ScimError {
  const excerpt = near.toWellFormed().slice(0, 40).toWellFormed();
  return new ScimError(
    'invalidFilter',
    msg`The filter is not valid near ${excerpt}. Attributes are compared by eq, ne, co, sw, ew, gt, ge, lt, le and pr.`,
  );
}

type Token =
  | { readonly kind: 'mark' | 'word'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string };

class Parser {
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(private readonly text: string) {
    this.tokens = tokensOf(text);
  }

  whole(): Filter {
    const filter = this.either('');
    if (this.at < this.tokens.length) throw this.failure();
    return filter;
  }

  private either(prefix: string): Filter {
    let left = this.both(prefix);
    while (this.takeWord('or')) left = { kind: 'or', left, right: this.both(prefix) };
    return left;
  }

  private both(prefix: string): Filter {
    let left = this.single(prefix);
    while (this.takeWord('and')) left = { kind: 'and', left, right: this.single(prefix) };
    return left;
  }

  private single(prefix: string): Filter {
    if (this.tokens[this.at + 1]?.text === '(' && this.takeWord('not')) {
      return { kind: 'not', of: this.single(prefix) };
    }
    if (this.takeMark('(')) {
      const inner = this.either(prefix);
      if (!this.takeMark(')')) throw this.failure();
      return inner;
    }
    const name = this.word();
    const path = prefix === '' ? attributeName(name) : `${prefix}.${name.toLowerCase()}`;
    if (prefix !== '' || !this.takeMark('[')) return this.comparison(path);
    const inner = this.either(path);
    if (!this.takeMark(']')) throw this.failure();
    // Entra ID writes emails[type eq "work"].value eq "a@b.c".
    const next = this.tokens[this.at];
    if (next?.kind !== 'word' || !next.text.startsWith('.')) return inner;
    this.at += 1;
    const right = this.comparison(path + next.text.toLowerCase());
    return { kind: 'and', left: inner, right };
  }

  private comparison(path: string): Filter {
    const operator = this.word().toLowerCase();
    if (operator === 'pr') return { kind: 'present', path };
    const comparison = OPERATORS.find((one) => one === operator);
    if (!comparison) throw this.failure();
    return { kind: 'compare', path, operator: comparison, value: this.literal() };
  }

  private literal(): Literal {
    const token = this.tokens[this.at];
    if (!token || token.kind === 'mark') throw this.failure();
    this.at += 1;
    try {
      const text = token.kind === 'word' ? token.text.toLowerCase() : token.text;
      const value: unknown = JSON.parse(text);
      if (isLiteral(value)) return value;
    } catch {
      // Refused below.
    }
    throw invalidFilter(token.text);
  }

  private word(): string {
    const token = this.tokens[this.at];
    if (token?.kind !== 'word') throw this.failure();
    this.at += 1;
    return token.text;
  }

  private takeWord(word: string): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== 'word' || token.text.toLowerCase() !== word) return false;
    this.at += 1;
    return true;
  }

  private takeMark(mark: string): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== 'mark' || token.text !== mark) return false;
    this.at += 1;
    return true;
  }

  private failure(): ScimError {
    return invalidFilter(this.tokens[this.at]?.text ?? this.text.slice(-40));
  }
}

function isLiteral(value: unknown): value is Literal {
  if (typeof value === 'string') return !value.includes('\0');
  return value === null || typeof value === 'number' || typeof value === 'boolean';
}

function tokensOf(text: string): Token[] {
  if (text.length > MAX_FILTER_CHARS) throw invalidFilter(text);
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const [, mark, quoted, word] = TOKEN.exec(text) ?? [];
    if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else throw invalidFilter(text.slice(from));
  }
  return tokens;
}
