/** A piece of a statement: a word (name or keyword), a symbol, a value (literal or parameter), or what brackets hold. */
export type SqlNode =
  | { readonly kind: 'word'; readonly text: string; readonly quoted: boolean }
  | { readonly kind: 'symbol'; readonly text: string }
  | { readonly kind: 'value' }
  | SqlGroup;

export interface SqlGroup {
  readonly kind: 'group';
  readonly nodes: readonly SqlNode[];
}

/** What PostgreSQL's lexer skips or reads as one piece (manual, section 4.1). */
const SKIPPED = /(?:\s+|--[^\n]*|\/\*[\s\S]*?\*\/)+/y;
const ESCAPED_STRING = /e'(?:[^'\\]|\\[\s\S]|'')*'/iy;
const STRING = /(?:[bxn]|u&)?'(?:[^']|'')*'/iy;
const DOLLAR_STRING = /\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/iy;
const PARAMETER = /\$\d+/y;
const NUMBER = /\d[\w.]*/y;
const QUOTED_NAME = /"(?:[^"]|"")*"/y;
const NAME = /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy;
const CAST = /::/y;
const OPERATOR = /[-+*/<>=~!@#%^&|`?]+/y;
const VALUES = [ESCAPED_STRING, STRING, DOLLAR_STRING, PARAMETER, NUMBER];

class Reader {
  private at = 0;

  constructor(private readonly sql: string) {}

  /** Reads up to the closing bracket of this level, or to the end. */
  nodes(): SqlNode[] {
    const found: SqlNode[] = [];
    for (;;) {
      this.match(SKIPPED);
      const character = this.sql[this.at];
      if (character === undefined) return found;
      if (character === ')' || character === ']') {
        this.at += 1;
        return found;
      }
      found.push(this.next(character));
    }
  }

  private next(character: string): SqlNode {
    if (character === '(' || character === '[') {
      this.at += 1;
      return { kind: 'group', nodes: this.nodes() };
    }
    if (VALUES.some((pattern) => this.match(pattern) !== undefined)) return { kind: 'value' };
    const quoted = this.match(QUOTED_NAME);
    if (quoted !== undefined) {
      return { kind: 'word', text: quoted.slice(1, -1).replaceAll('""', '"'), quoted: true };
    }
    const name = this.match(NAME);
    if (name !== undefined) return { kind: 'word', text: name.toLowerCase(), quoted: false };
    return { kind: 'symbol', text: this.match(CAST) ?? this.match(OPERATOR) ?? this.one() };
  }

  private one(): string {
    const character = this.sql.charAt(this.at);
    this.at += 1;
    return character;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [text] = pattern.exec(this.sql) ?? [];
    if (text !== undefined) this.at += text.length;
    return text;
  }
}

/** The statements of a text, each as its pieces. */
export function readStatements(sql: string): SqlNode[][] {
  return split(new Reader(sql).nodes(), (node) => isSymbol(node, ';')).filter(
    (nodes) => nodes.length > 0,
  );
}

/** The pieces between those that the test names, which are left out. */
export function split(
  nodes: readonly SqlNode[],
  separates: (node: SqlNode) => boolean,
): SqlNode[][] {
  const parts: SqlNode[][] = [[]];
  for (const node of nodes) {
    if (separates(node)) parts.push([]);
    else parts.at(-1)?.push(node);
  }
  return parts;
}

export function isSymbol(node: SqlNode | undefined, text: string): boolean {
  return node?.kind === 'symbol' && node.text === text;
}

/** True for the keyword; a quoted name is never one. */
export function isWord(node: SqlNode | undefined, ...texts: readonly string[]): boolean {
  return node?.kind === 'word' && !node.quoted && texts.includes(node.text);
}

export function isGroup(node: SqlNode | undefined): node is SqlGroup {
  return node?.kind === 'group';
}

/** True when the brackets hold a query and not an expression or a list. */
export function isQuery(node: SqlNode | undefined): boolean {
  if (!isGroup(node)) return false;
  const [first] = node.nodes;
  const inner = node.nodes.length === 1 ? first : undefined;
  return (
    isWord(first, 'select', 'with', 'insert', 'update', 'delete', 'values', 'table') ||
    isQuery(inner)
  );
}
