import { LRUCache } from 'lru-cache';
import { currentBinding } from './tenant-binding.js';

/** What the wall reads of TypeORM's EntityMetadata. */
export interface MappedTable {
  readonly tableName: string;
  readonly columns: readonly { readonly propertyName: string }[];
}

/** The tenants themselves: who may read and change them is the business of the services. */
const REGISTER = 'tenant';

/** Created at the start where the extension pgvector is, so no entity describes it. */
const WITHOUT_ENTITY = ['fragment_pgvector'];

/** Texts that are kept with what is known of them, and the longest that is worth keeping. */
const KEPT_TEXTS = 2_000;
const KEPT_LENGTH = 8_000;

/** The tables whose rows belong to a tenant. */
export function tablesOfTenants(entities: readonly MappedTable[]): string[] {
  const owned = entities
    .filter(({ columns }) => columns.some(({ propertyName }) => propertyName === 'tenantId'))
    .map(({ tableName }) => tableName);
  return [...owned.filter((table) => table !== REGISTER), ...WITHOUT_ENTITY];
}

/** A statement for another tenant than the one that the running work is bound to. */
export class TenantMismatchError extends Error {
  override readonly name = 'TenantMismatchError';

  constructor(
    readonly table: string,
    bound: string | undefined,
    asked: string | undefined,
  ) {
    super(
      `Refused a statement on ${table} for ${asked === undefined ? 'no tenant' : `tenant ${asked}`}: ` +
        `the work is bound to ${bound === undefined ? 'no tenant' : `tenant ${bound}`}.`,
    );
  }
}

/** What a text says of tenants: the first of their tables, and the numbers of the parameters that are a tenant_id. */
interface Shape {
  readonly table: string;
  readonly parameters: readonly number[];
}

/**
 * Refuses, before it is sent, every statement on rows of a tenant unless it is for the tenant that the running work is
 * bound to (`inTenant`) or the work runs `acrossTenants`. Each parameter that the text compares with tenant_id, or
 * inserts as one, must be the bound tenant; a text that hands the tenant on in another way must have it among its
 * parameters. That a text asks for a tenant in each of its tables is checked by the tests, which read every statement.
 */
export class TenantWall {
  private table: RegExp | undefined;
  private readonly shapes = new LRUCache<string, Shape | 'none'>({ max: KEPT_TEXTS });

  /** Until then nothing is refused: migrations come first. */
  protect(entities: readonly MappedTable[]): void {
    const names = tablesOfTenants(entities).join('|');
    this.table = new RegExp(
      `\\b(?:from|join|into|update|using)\\s+(?:only\\s+)?"?(${names})(?![\\w(])`,
      'i',
    );
  }

  check(sql: string, values: readonly unknown[]): void {
    if (!this.table) return;
    const shape = this.shapeOf(sql, this.table);
    if (shape === 'none') return;
    const binding = currentBinding();
    if (binding?.kind === 'installation') return;
    const bound = binding?.tenantId;
    const asked = shape.parameters.flatMap((number) => values[number - 1]);
    const isBound =
      asked.length > 0 ? asked.every((tenantId) => tenantId === bound) : values.includes(bound);
    if (bound === undefined || !isBound) {
      const foreign = asked.find((tenantId) => tenantId !== bound);
      throw new TenantMismatchError(shape.table, bound, textOf(foreign));
    }
  }

  private shapeOf(sql: string, tables: RegExp): Shape | 'none' {
    const known = this.shapes.get(sql);
    if (known) return known;
    const table = tables.exec(sql)?.[1];
    const shape = table === undefined ? 'none' : { table, parameters: tenantParameters(sql) };
    if (sql.length <= KEPT_LENGTH) this.shapes.set(sql, shape);
    return shape;
  }
}

const COMPARED = /(?<!\w)tenant_id"?\s*=\s*(?:any\s*\(\s*)?\$(\d+)/gi;
const COMPARED_BACKWARDS = /\$(\d+)(?:::\w+)?\s*=\s*(?:"?\w+"?\.)?"?tenant_id\b/gi;
const INSERTED = /\binto\s+"?\w+"?\s*\(([^()]*)\)\s*values\s*(?=\()/gi;

function tenantParameters(sql: string): number[] {
  const numbers = [COMPARED, COMPARED_BACKWARDS].flatMap((form) =>
    Array.from(sql.matchAll(form), ([, number]) => Number(number)),
  );
  for (const match of sql.matchAll(INSERTED)) {
    const columns = (match[1] ?? '').split(',').map((name) => name.replace(/["\s]/g, ''));
    const column = columns.indexOf('tenant_id');
    if (column >= 0) numbers.push(...inserted(sql, match.index + match[0].length, column));
  }
  return [...new Set(numbers)];
}

/** The parameters that stand at the place of the column in each of the rows that begin at the offset. */
function inserted(sql: string, offset: number, column: number): number[] {
  const found: number[] = [];
  const pieces = /'(?:[^']|'')*'|[(),]|\$\d+|[^'(),$]+/y;
  pieces.lastIndex = offset;
  let depth = 0;
  let at = 0;
  for (let match = pieces.exec(sql); match; match = pieces.exec(sql)) {
    const [piece] = match;
    if (piece === '(') {
      if (depth === 0) at = 0;
      depth += 1;
    } else if (piece === ')') depth -= 1;
    else if (piece === ',') at += depth === 1 ? 1 : 0;
    else if (depth === 0 && piece.trim() !== '') break;
    else if (depth === 1 && at === column && piece.startsWith('$'))
      found.push(Number(piece.slice(1)));
  }
  return found;
}

function textOf(tenantId: unknown): string | undefined {
  return typeof tenantId === 'string' ? tenantId : JSON.stringify(tenantId);
}
