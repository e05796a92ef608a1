import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';

/** The scope of work: one tenant, or the whole installation for a reason that the code gives. */
type Binding =
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'installation'; readonly reason: string };

const storage = new AsyncLocalStorage<Binding>();

/** The tenant to which the work is bound; undefined where it is bound to none. */
export function boundTenant(): string | undefined {
  const binding = storage.getStore();
  return binding?.kind === 'tenant' ? binding.tenantId : undefined;
}

/**
 * Binds the work, and everything that it starts, to the tenant: TenantCheck refuses its statements on rows of any other.
 * TenantInterceptor binds requests; a job or a sweep binds its work to the tenant of its row.
 */
export function inTenant<T>(tenantId: string, work: () => T): T {
  return storage.run({ kind: 'tenant', tenantId }, work);
}

/** Runs work that belongs to no tenant, such as a sweep over all of them. Keep the work to the statement that needs it. */
export function acrossTenants<T>(reason: string, work: () => T): T {
  return storage.run({ kind: 'installation', reason }, work);
}

/** The work, bound as the caller is now, to be run later. */
export function withBinding<T>(work: () => T): () => T {
  const binding = storage.getStore();
  return binding === undefined ? work : () => storage.run(binding, work);
}

/** The part of TypeORM's EntityMetadata that the check reads. */
export interface MappedTable {
  readonly tableName: string;
  readonly columns: readonly { readonly propertyName: string }[];
}

/** The table of the tenants themselves, whose access the services check. */
const REGISTER = 'tenant';

/**
 * Tables that no entity describes: one that is created at the start where the extension pgvector is, and one that only the
 * release before uses.
 */
const TABLES_WITHOUT_ENTITY = ['fragment_pgvector', 'stored_response_event'];

/** Texts whose shapes are cached, and the longest of them. */
const MAX_CACHED_TEXTS = 2_000;
const MAX_CACHED_CHARS = 8_000;

/** The tables whose rows belong to a tenant. */
export function tablesOfTenants(entities: readonly MappedTable[]): string[] {
  const tables = entities
    .filter(({ columns }) => columns.some(({ propertyName }) => propertyName === 'tenantId'))
    .map(({ tableName }) => tableName);
  return [...tables.filter((table) => table !== REGISTER), ...TABLES_WITHOUT_ENTITY];
}

/** A statement that is not for the tenant, and that tenant alone, to which the running work is bound. */
class TenantMismatchError extends Error {
  override readonly name = 'TenantMismatchError';

  constructor(table: string, problem: string) {
    super(`Refused a statement on ${table}${problem}`);
  }
}

/** How a statement's text refers to tenants. */
interface Shape {
  /** The first table of tenants in the text. */
  readonly table: string;
  /** Whether the text names tables of tenants more often than tenant_id. */
  readonly isUnscoped: boolean;
  /** The numbers of the parameters that are a tenant_id. */
  readonly parameters: readonly number[];
}

/**
 * Refuses, before it is sent, every statement on rows of a tenant unless it is for the tenant that the running work is
 * bound to (`inTenant`) or the work runs `acrossTenants`. The text must name tenant_id at least as often as tables of
 * tenants. Each parameter that it compares with tenant_id, or inserts as one, must be the bound tenant; a text that hands
 * the tenant on in another way must have it among its parameters. docs/SECURITY.md says what this does not see.
 */
export class TenantCheck {
  private tables: RegExp | undefined;
  private readonly shapes = new LRUCache<string, Shape | 'none'>({ max: MAX_CACHED_TEXTS });

  /** Starts the check. Nothing is refused before, because migrations run first. */
  protect(entities: readonly MappedTable[]): void {
    const names = tablesOfTenants(entities).join('|');
    this.tables = new RegExp(
      `\\b(?:from|join|into|update|using)\\s+(?:only\\s+)?"?(${names})(?![\\w(])`,
      'gi',
    );
  }

  check(sql: string, values: readonly unknown[]): void {
    if (!this.tables) return;
    const shape = this.shapeOf(sql, this.tables);
    if (shape === 'none') return;
    const binding = storage.getStore();
    if (binding?.kind === 'installation') return;
    const { table, isUnscoped, parameters } = shape;
    const bound = binding?.tenantId;
    const tenants = parameters.flatMap((number) => values[number - 1]);
    const isBound =
      tenants.length > 0 ? tenants.every((tenantId) => tenantId === bound) : values.includes(bound);
    if (bound === undefined || !isBound) {
      const foreign = tenants.find((tenantId) => tenantId !== bound);
      const [requested, allowed] = [foreign, bound].map(nameOf);
      throw new TenantMismatchError(table, ` for ${requested}: the work is bound to ${allowed}.`);
    }
    if (isUnscoped) {
      throw new TenantMismatchError(table, ': it names more tables of tenants than tenant_id.');
    }
  }

  private shapeOf(sql: string, tables: RegExp): Shape | 'none' {
    const cached = this.shapes.get(sql);
    if (cached) return cached;
    const mentions = Array.from(sql.matchAll(tables), ([, table = '']) => table);
    const [table] = mentions;
    const shape =
      table === undefined
        ? 'none'
        : {
            table,
            isUnscoped: mentions.length > Array.from(sql.matchAll(/\btenant_id\b/gi)).length,
            parameters: tenantParameters(sql),
          };
    if (sql.length <= MAX_CACHED_CHARS) this.shapes.set(sql, shape);
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
  const numbers: number[] = [];
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
      numbers.push(Number(piece.slice(1)));
  }
  return numbers;
}

function nameOf(tenantId: unknown): string {
  if (tenantId === undefined) return 'no tenant';
  return `tenant ${typeof tenantId === 'string' ? tenantId : JSON.stringify(tenantId)}`;
}
