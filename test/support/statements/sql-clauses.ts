import { isGroup, isQuery, isSymbol, isWord } from './sql-nodes.js';
import type { SqlGroup, SqlNode } from './sql-nodes.js';

/** What a query reads from or writes to. */
export interface Source {
  readonly alias: string;
  /** The table's name; undefined for a subquery or a function. */
  readonly table: string | undefined;
  /** The subquery, if it is one. */
  readonly query: SqlGroup | undefined;
}

/** A condition that joins; an outer one binds only the source that it joins. */
export interface JoinCondition {
  readonly kind: 'inner' | 'left' | 'other';
  readonly joined: Source | undefined;
  readonly condition: readonly SqlNode[];
}

export interface SourceList {
  readonly sources: Source[];
  readonly joins: JoinCondition[];
}

export interface Clause {
  /** The keyword that opens it; '' for what stands before the first one. */
  readonly word: string;
  readonly nodes: SqlNode[];
}

const JOIN_WORDS = ['natural', 'inner', 'left', 'right', 'full', 'cross', 'join'];
const NO_ALIAS = [
  ...JOIN_WORDS,
  'on',
  'using',
  'set',
  'where',
  'tablesample',
  'default',
  'values',
  'select',
  'overriding',
  'as',
];

/** Splits a statement at its keywords; keywords inside of brackets belong to what is in there. */
export function clauses(nodes: readonly SqlNode[], keywords: readonly string[]): Clause[] {
  const found: Clause[] = [{ word: '', nodes: [] }];
  nodes.forEach((node, index) => {
    if (isWord(node, ...keywords) && node.kind === 'word' && !isDistinctFrom(nodes, index)) {
      found.push({ word: node.text, nodes: [] });
    } else found.at(-1)?.nodes.push(node);
  });
  return found;
}

/** `a IS DISTINCT FROM b` compares; its FROM opens nothing. */
function isDistinctFrom(nodes: readonly SqlNode[], index: number): boolean {
  return (
    isWord(nodes[index], 'from') &&
    isWord(nodes[index - 1], 'distinct') &&
    isWord(nodes[index - 2], 'is', 'not')
  );
}

/** Reads what stands behind FROM, USING, UPDATE or INTO. */
export function readSources(nodes: readonly SqlNode[]): SourceList {
  return new SourceReader(nodes).read();
}

class SourceReader {
  private at = 0;
  private readonly found: SourceList = { sources: [], joins: [] };

  constructor(private readonly nodes: readonly SqlNode[]) {}

  read(): SourceList {
    this.source();
    while (this.at < this.nodes.length) {
      if (isSymbol(this.current, ',')) {
        this.at += 1;
        this.source();
      } else if (isWord(this.current, ...JOIN_WORDS)) this.join();
      // TABLESAMPLE and whatever else may follow a source.
      else this.at += 1;
    }
    return this.found;
  }

  private get current(): SqlNode | undefined {
    return this.nodes[this.at];
  }

  private join(): void {
    const words: string[] = [];
    while (this.current?.kind === 'word' && isWord(this.current, ...JOIN_WORDS, 'outer')) {
      words.push(this.current.text);
      this.at += 1;
    }
    const joined = this.source();
    const kind = words.includes('left')
      ? 'left'
      : words.some((word) => ['right', 'full'].includes(word))
        ? 'other'
        : 'inner';
    if (!isWord(this.current, 'on')) return;
    this.at += 1;
    const condition: SqlNode[] = [];
    while (this.current && !this.endsCondition()) {
      condition.push(this.current);
      this.at += 1;
    }
    this.found.joins.push({ kind, joined, condition });
  }

  /** `left(…)` and `right(…)` are functions. */
  private endsCondition(): boolean {
    if (isSymbol(this.current, ',')) return true;
    return isWord(this.current, ...JOIN_WORDS) && !isGroup(this.nodes[this.at + 1]);
  }

  private source(): Source | undefined {
    while (isWord(this.current, 'only', 'lateral')) this.at += 1;
    const first = this.current;
    if (isGroup(first) && !isQuery(first)) return this.nested(first);
    const table = isGroup(first) ? undefined : this.name();
    if (isGroup(first)) this.at += 1;
    const called = !isGroup(first) && isGroup(this.current);
    if (called) this.at += 1;
    const source = {
      alias: this.alias() ?? table ?? '',
      table: called ? undefined : table,
      query: isGroup(first) ? first : undefined,
    };
    this.found.sources.push(source);
    return source;
  }

  /** `(a JOIN b ON …)`: its sources are seen as if the brackets were not there. */
  private nested(group: SqlGroup): Source | undefined {
    this.at += 1;
    const { sources, joins } = readSources(group.nodes);
    this.found.sources.push(...sources);
    this.found.joins.push(...joins);
    this.alias();
    return sources[0];
  }

  /** The last part of a name with dots. */
  private name(): string | undefined {
    let text: string | undefined;
    while (this.current?.kind === 'word') {
      text = this.current.text;
      this.at += 1;
      if (!isSymbol(this.current, '.')) return text;
      this.at += 1;
    }
    return text;
  }

  private alias(): string | undefined {
    const explicit = isWord(this.current, 'as');
    if (explicit) this.at += 1;
    const { current } = this;
    if (current?.kind !== 'word' || (!explicit && isWord(current, ...NO_ALIAS))) return undefined;
    this.at += 1;
    if (isGroup(this.current)) this.at += 1;
    return current.text;
  }
}
