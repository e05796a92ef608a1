import { isGroup, isQuery, isSymbol, isWord, split } from './sql-nodes.js';
import type { SqlNode } from './sql-nodes.js';

export const TENANT_COLUMN = 'tenant_id';

/** Stands for a value that comes from outside of the statement. */
export const GIVEN = '*';

/**
 * What a condition guarantees about tenants: the tenant of the source `of` is what `column` of the source `to` says, or
 * GIVEN. The source of an unqualified column is ''.
 */
export interface TenantFact {
  readonly of: string;
  readonly to: string;
  readonly column: string;
}

/** Words that may stand in a value; any other word may be a column, of which nothing is known. */
const VALUE_WORDS = ['any', 'array', 'cast', 'as', 'text', 'varchar', 'current_setting'];

interface Column {
  readonly source: string;
  readonly name: string;
}

/** The facts that hold for every row that passes the condition. */
export function guaranteed(condition: readonly SqlNode[]): TenantFact[] {
  const alternatives = splitOutsideCase(condition, 'or');
  if (alternatives.length > 1) return inAll(alternatives.map(guaranteed));
  const conjuncts = splitOutsideCase(condition, 'and');
  if (conjuncts.length > 1) return conjuncts.flatMap(guaranteed);
  const [only] = condition;
  if (condition.length === 1 && isGroup(only) && !isQuery(only)) return guaranteed(only.nodes);
  return comparison(condition);
}

function inAll(lists: readonly TenantFact[][]): TenantFact[] {
  const [first = [], ...others] = lists;
  return first.filter((fact) =>
    others.every((list) =>
      list.some(({ of, to, column }) => of === fact.of && to === fact.to && column === fact.column),
    ),
  );
}

function comparison(nodes: readonly SqlNode[]): TenantFact[] {
  const at = nodes.findIndex((node) => isSymbol(node, '=') || isWord(node, 'in'));
  if (at < 1 || nodes.slice(at + 1).some((node) => isSymbol(node, '=') || isWord(node, 'is'))) {
    return [];
  }
  const [left, right] = [nodes.slice(0, at), nodes.slice(at + 1)];
  return isWord(nodes[at], 'in') ? fromList(left, right) : fromEquality(left, right);
}

/** `tenant_id IN (…)` and `(tenant_id, id) IN (…)`, with values or a query; a query is checked for itself. */
function fromList(left: readonly SqlNode[], right: readonly SqlNode[]): TenantFact[] {
  const [list] = right;
  if (!isGroup(list) || right.length > 1) return [];
  const tenant = tenantColumnOf(left);
  return tenant && (isQuery(list) || isValue(list.nodes)) ? [given(tenant)] : [];
}

function fromEquality(left: readonly SqlNode[], right: readonly SqlNode[]): TenantFact[] {
  return [...oneWay(left, right), ...oneWay(right, left)];
}

function oneWay(left: readonly SqlNode[], right: readonly SqlNode[]): TenantFact[] {
  const tenant = tenantColumnOf(left);
  if (!tenant) return [];
  const other = columnOf(right);
  if (other) return [{ of: tenant.source, to: other.source, column: other.name }];
  const isGiven = isValue(right) || (right.length === 1 && isQuery(right[0]));
  return isGiven ? [given(tenant)] : [];
}

function given(tenant: Column): TenantFact {
  return { of: tenant.source, to: GIVEN, column: TENANT_COLUMN };
}

/** The tenant column, alone or in a row of columns. */
function tenantColumnOf(nodes: readonly SqlNode[]): Column | undefined {
  const [only] = nodes;
  const parts =
    nodes.length === 1 && isGroup(only)
      ? split(only.nodes, (node) => isSymbol(node, ','))
      : [nodes];
  return parts.map(columnOf).find((column) => column?.name === TENANT_COLUMN);
}

/** `name`, `source.name` or one of them with a cast behind it. */
function columnOf(nodes: readonly SqlNode[]): Column | undefined {
  const cast = nodes.findIndex((node) => isSymbol(node, '::'));
  const path = cast < 0 ? nodes : nodes.slice(0, cast);
  const names = split(path, (node) => isSymbol(node, '.')).map((part) =>
    part.length === 1 && part[0]?.kind === 'word' ? part[0].text : undefined,
  );
  const name = names.at(-1);
  if (name === undefined || names.includes(undefined)) return undefined;
  return { source: names.at(-2) ?? '', name };
}

function isValue(nodes: readonly SqlNode[]): boolean {
  if (nodes.length === 0) return false;
  return nodes.every((node) => {
    if (isGroup(node)) return isQuery(node) || node.nodes.length === 0 || isValue(node.nodes);
    return node.kind !== 'word' || isWord(node, ...VALUE_WORDS);
  });
}

/** The AND and OR of a CASE belong to it. */
function splitOutsideCase(nodes: readonly SqlNode[], word: string): SqlNode[][] {
  let depth = 0;
  return split(nodes, (node) => {
    if (isWord(node, 'case')) depth += 1;
    if (isWord(node, 'end')) depth -= 1;
    return depth === 0 && isWord(node, word);
  });
}
