import { clauses, readSources } from './sql-clauses.js';
import type { Clause, Source, SourceList } from './sql-clauses.js';
import { isGroup, isQuery, isSymbol, isWord, readStatements, split } from './sql-nodes.js';
import type { SqlGroup, SqlNode } from './sql-nodes.js';
import { GIVEN, guaranteed, TENANT_COLUMN } from './tenant-facts.js';
import type { TenantFact } from './tenant-facts.js';

export interface TenantTables {
  /** Their rows belong to a tenant: whoever touches them must say which. */
  readonly owned: ReadonlySet<string>;
  /** Their rows are the tenants: they may be read without, but then name no tenant for others. */
  readonly registers: ReadonlySet<string>;
}

/** Sources by alias, and whether the tenant of their rows is known. */
type Scope = ReadonlyMap<string, boolean>;

const QUERY_WORDS = [
  'select',
  'from',
  'where',
  'group',
  'having',
  'window',
  'order',
  'limit',
  'offset',
  'fetch',
  'for',
  'returning',
];
const CHANGE_WORDS = ['set', 'from', 'using', 'where', 'returning'];
const SET_OPERATIONS = ['union', 'intersect', 'except'];
/** They define or control; what they touch are no rows. */
const NOT_ABOUT_ROWS =
  'create alter drop comment grant revoke start begin commit end rollback savepoint release set reset show listen unlisten notify discard vacuum analyze deallocate'.split(
    ' ',
  );

/** What is wrong with a text of SQL: one line for each tenant table that is touched without saying of which tenant. */
export function tenantViolations(sql: string, tables: TenantTables): string[] {
  const check = new TenantCheck(tables);
  for (const statement of readStatements(sql)) check.statement(statement);
  return [...new Set(check.found)];
}

class TenantCheck {
  readonly found: string[] = [];

  constructor(private readonly tables: TenantTables) {}

  statement(nodes: readonly SqlNode[]): void {
    const [first] = nodes;
    if (isWord(first, ...NOT_ABOUT_ROWS)) return;
    this.query(nodes, new Map(), new Map());
  }

  /** Answers whether all rows of the result have a known tenant. */
  private query(nodes: readonly SqlNode[], outer: Scope, named: Scope): boolean {
    const { body, known } = this.readNamed(nodes, outer, named);
    const parts = split(body, (node) => isWord(node, ...SET_OPERATIONS));
    const arms = parts.map((part, index) =>
      index > 0 && isWord(part[0], 'all', 'distinct') ? part.slice(1) : part,
    );
    return arms.map((arm) => this.arm(arm, outer, known)).every(Boolean);
  }

  /** Reads the WITH queries off the start. */
  private readNamed(
    nodes: readonly SqlNode[],
    outer: Scope,
    named: Scope,
  ): { body: readonly SqlNode[]; known: Scope } {
    const known = new Map(named);
    if (!isWord(nodes[0], 'with')) return { body: nodes, known };
    let at = isWord(nodes[1], 'recursive') ? 2 : 1;
    for (;;) {
      const name = nodes[at];
      const bracket = nodes.findIndex((node, index) => index > at && isQuery(node));
      const query = nodes[bracket];
      if (name?.kind !== 'word' || !isGroup(query)) return { body: nodes, known };
      // A recursive query reads from itself: what it starts with decides.
      known.set(name.text, true);
      known.set(name.text, this.query(query.nodes, outer, known));
      at = bracket + 1;
      if (!isSymbol(nodes[at], ',')) return { body: nodes.slice(at), known };
      at += 1;
    }
  }

  private arm(nodes: readonly SqlNode[], outer: Scope, named: Scope): boolean {
    const [first] = nodes;
    if (nodes.length === 1 && isGroup(first)) return this.query(first.nodes, outer, named);
    if (isWord(first, 'select')) return this.rows(clauses(nodes, QUERY_WORDS), outer, named);
    if (isWord(first, 'insert')) return this.insertion(nodes, outer, named);
    if (isWord(first, 'update')) {
      const [target, ...others] = clauses(nodes.slice(1), CHANGE_WORDS);
      return this.rows([{ word: 'from', nodes: target?.nodes ?? [] }, ...others], outer, named);
    }
    if (isWord(first, 'delete')) return this.rows(clauses(nodes, CHANGE_WORDS), outer, named);
    if (isWord(first, 'values')) {
      this.nested(nodes, outer, named);
      return true;
    }
    this.refuseUnknown(nodes);
    return false;
  }

  /** A statement of another kind may not name a tenant table at all. */
  private refuseUnknown(nodes: readonly SqlNode[]): void {
    for (const node of nodes) {
      if (isGroup(node)) this.refuseUnknown(node.nodes);
      else if (node.kind === 'word' && this.tables.owned.has(node.text)) {
        this.found.push(`${node.text} in a statement of a kind that the check does not know`);
      }
    }
  }

  private rows(parts: readonly Clause[], outer: Scope, named: Scope): boolean {
    const { sources, joins } = sourcesOf(parts);
    const scope = new Map(outer);
    for (const source of sources) scope.set(source.alias, this.knownBefore(source, outer, named));
    const conditions = parts.filter(({ word }) => word === 'where').map(({ nodes }) => nodes);
    const facts = [
      ...conditions.flatMap(guaranteed),
      ...joins
        .filter(({ kind }) => kind === 'inner')
        .flatMap(({ condition }) => guaranteed(condition)),
    ].map((fact) => this.qualified(fact, sources));
    const outerFacts = joins
      .filter(({ kind }) => kind === 'left')
      .flatMap(({ joined, condition }) =>
        guaranteed(condition)
          .map((fact) => this.qualified(fact, sources))
          .filter(({ of }) => of === joined?.alias),
      );
    this.spread([...facts, ...outerFacts], sources, scope);
    for (const source of sources) {
      if (this.isTable(source, named, 'owned') && !scope.get(source.alias)) {
        this.found.push(`${source.table ?? ''} without a tenant`);
      }
    }
    const derived = new Set(sources.flatMap(({ query }) => (query ? [query] : [])));
    for (const { nodes } of parts) this.nested(nodes, scope, named, derived);
    return sources.every(({ alias }) => scope.get(alias));
  }

  /** What is known about a source before any condition: a subquery is checked here. */
  private knownBefore(source: Source, outer: Scope, named: Scope): boolean {
    if (source.query) return this.query(source.query.nodes, outer, named);
    if (source.table === undefined) return true;
    if (named.has(source.table)) return named.get(source.table) ?? false;
    return !this.tables.owned.has(source.table) && !this.tables.registers.has(source.table);
  }

  /** Gives unqualified columns their source, where there is only one that can be meant. */
  private qualified(fact: TenantFact, sources: readonly Source[]): TenantFact {
    const tables = sources.filter(
      ({ table }) => table && (this.tables.owned.has(table) || this.tables.registers.has(table)),
    );
    const [only] = tables.length === 1 ? tables : sources;
    const meant = tables.length === 1 || sources.length === 1 ? only?.alias : undefined;
    const name = (source: string): string => (source === '' ? (meant ?? '?') : source);
    return { ...fact, of: name(fact.of), to: fact.to === GIVEN ? GIVEN : name(fact.to) };
  }

  private spread(
    facts: readonly TenantFact[],
    sources: readonly Source[],
    scope: Map<string, boolean>,
  ): void {
    const isTenant = ({ to, column }: TenantFact): boolean => {
      const source = sources.find(({ alias }) => alias === to);
      return column === TENANT_COLUMN || (source !== undefined && source.table === undefined);
    };
    let changed = true;
    while (changed) {
      changed = false;
      for (const fact of facts) {
        const known = fact.to === GIVEN || (isTenant(fact) && scope.get(fact.to) === true);
        if (!known || scope.get(fact.of) !== false) continue;
        scope.set(fact.of, true);
        changed = true;
      }
    }
  }

  private insertion(nodes: readonly SqlNode[], outer: Scope, named: Scope): boolean {
    const [, , table] = nodes;
    const columns = nodes.find((node, index) => index > 2 && isGroup(node));
    const isOwned = table?.kind === 'word' && this.tables.owned.has(table.text);
    if (isOwned && !names(columns).includes(TENANT_COLUMN)) {
      this.found.push(`${table.text} filled without a tenant`);
    }
    const conflict = nodes.findIndex(
      (node, index) => isWord(node, 'on') && isWord(nodes[index + 1], 'conflict'),
    );
    if (isOwned && conflict > 0) this.conflict(table.text, nodes.slice(conflict));
    const start = nodes.findIndex((node, index) => index > 2 && isBody(node, columns));
    const end = nodes.findIndex(
      (node, index) => index > start && (isWord(node, 'returning') || index === conflict),
    );
    const body = nodes.slice(start, end < 0 ? undefined : end);
    if (isWord(body[0], 'select', 'with') || isQuery(body[0])) this.query(body, outer, named);
    else this.nested(body, outer, named);
    if (end > 0) this.nested(nodes.slice(end), outer, named);
    return true;
  }

  /** A row that is updated instead of inserted must be one of the same tenant. */
  private conflict(table: string, nodes: readonly SqlNode[]): void {
    const updates = nodes.some(
      (node, index) => isWord(node, 'do') && isWord(nodes[index + 1], 'update'),
    );
    if (updates && !names(nodes[2]).includes(TENANT_COLUMN)) {
      this.found.push(`${table} updated on a conflict without a tenant`);
    }
  }

  /** Checks the queries within expressions, which see the sources around them. */
  private nested(
    nodes: readonly SqlNode[],
    scope: Scope,
    named: Scope,
    done: ReadonlySet<SqlGroup> = new Set(),
  ): void {
    for (const node of nodes) {
      if (!isGroup(node) || done.has(node)) continue;
      if (isQuery(node)) this.query(node.nodes, scope, named);
      else this.nested(node.nodes, scope, named, done);
    }
  }

  private isTable({ table }: Source, named: Scope, kind: keyof TenantTables): boolean {
    return table !== undefined && !named.has(table) && this.tables[kind].has(table);
  }
}

function sourcesOf(parts: readonly Clause[]): SourceList {
  const lists = parts
    .filter(({ word, nodes }) => (word === 'from' || word === 'using') && nodes.length > 0)
    .map(({ nodes }) => readSources(nodes));
  return {
    sources: lists.flatMap(({ sources }) => sources),
    joins: lists.flatMap(({ joins }) => joins),
  };
}

function names(node: SqlNode | undefined): string[] {
  if (!isGroup(node)) return [];
  return node.nodes.flatMap((column) => (column.kind === 'word' ? [column.text] : []));
}

function isBody(node: SqlNode, columns: SqlNode | undefined): boolean {
  return isWord(node, 'values', 'select', 'with', 'default') || (node !== columns && isQuery(node));
}
