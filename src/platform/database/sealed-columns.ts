import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Database } from './database.js';
import { withLongStatements } from './statement-limit.js';
import { acrossTenants } from './tenant-check.js';
import { TextSealer } from './text-sealer.js';

const BATCH_ROWS = 200;
const MAX_KEY_IDS = 100;

/** How the rows of a table are named, where it differs from a bigint `id` in a table of tenants. */
interface RowKey {
  /** The primary key. */
  readonly key?: string;
  readonly type?: 'bigint' | 'uuid' | 'text';
  /** The column with the id that a text is bound to; default: the primary key. */
  readonly owner?: string;
  readonly hasTenant?: boolean;
}

/** A column of texts that SECRET_KEY encrypts, each bound to its tenant, table and owner, so that a copied one does not decrypt. */
export class SealedColumn {
  readonly rowKey: Required<RowKey>;

  constructor(
    private readonly sealer: TextSealer,
    readonly table: string,
    readonly column: string,
    { key = 'id', type = 'bigint', owner = key, hasTenant = true }: RowKey,
  ) {
    this.rowKey = { key, type, owner, hasTenant };
  }

  /** Encrypts a text with the current key. The tenant is null in a table without tenants. */
  seal(tenantId: string | null, owner: number | string, text: string): string {
    return this.sealer.seal(this.placeOf(tenantId, owner), text);
  }

  /** Decrypts a text; undefined for one that is bound to another record or key, or was changed. */
  open(tenantId: string | null, owner: number | string, sealed: string): string | undefined {
    return this.sealer.open(this.placeOf(tenantId, owner), sealed);
  }

  private placeOf(tenantId: string | null, owner: number | string): string {
    return tenantId === null ? String(owner) : `${tenantId}:${this.table}:${owner}`;
  }
}

/** The number of texts of a column under one key. */
export interface SealedCount {
  readonly table: string;
  readonly column: string;
  /** Empty for texts of another form. */
  readonly keyId: string;
  readonly count: number;
}

/** A text that no key of the settings decrypts. */
export interface UnreadableText {
  readonly table: string;
  readonly column: string;
  readonly tenantId: string | null;
  readonly key: number | string;
  readonly sealed: string;
}

interface SealedRow {
  readonly key: number | string;
  readonly tenantId: string | null;
  readonly owner: number | string;
  readonly sealed: string;
}

/**
 * Every column that SECRET_KEY encrypts. When the key changes, `renew` encrypts with the current key what the previous one has
 * encrypted: at each start, and by `npm run secrets:rotate` while services run.
 */
@Injectable()
export class SealedColumns {
  private readonly logger = new Logger(SealedColumns.name);
  private readonly sealer: TextSealer;
  readonly columns: SealedColumn[] = [];

  constructor(
    private readonly database: Database,
    @Inject(CONFIG) config: Config,
  ) {
    this.sealer = new TextSealer(config.encryptionKeys);
  }

  add(table: string, column: string, rowKey: RowKey = {}): SealedColumn {
    const sealedColumn = new SealedColumn(this.sealer, table, column, rowKey);
    this.columns.push(sealedColumn);
    return sealedColumn;
  }

  /**
   * Encrypts again, in batches of one transaction each, and returns how many texts it has written. Can be interrupted, repeated
   * and run by several processes at once. A text that the previous key does not decrypt stays as it is.
   */
  async renew(): Promise<number> {
    const { previousPrefix } = this.sealer;
    if (previousPrefix === undefined) return 0;
    let renewed = 0;
    for (const column of this.columns) {
      for (let last: SealedRow | undefined; ;) {
        const { rows, written } = await this.renewBatch(column, last, previousPrefix);
        renewed += written;
        if (rows.length < BATCH_ROWS) break;
        last = rows.at(-1);
      }
    }
    if (renewed > 0) this.logger.log({ msg: 'Secrets encrypted with the current key', renewed });
    return renewed;
  }

  /** The number of texts by column and key. */
  async counts(): Promise<SealedCount[]> {
    const counts: SealedCount[] = [];
    for (const { table, column } of this.columns) {
      const rows = await withLongStatements(() =>
        allTenants(() =>
          this.database.query<Pick<SealedCount, 'keyId' | 'count'>>(
            `SELECT coalesce(substring(${column} FROM '^v1[.]([0-9a-f]{8})[.]'), '') AS "keyId", count(*)::integer AS count
               FROM ${table} WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT ${MAX_KEY_IDS}`,
          ),
        ),
      );
      for (const { keyId, count } of rows) counts.push({ table, column, keyId, count });
    }
    return counts;
  }

  /** Decrypts every text, and yields those that neither key decrypts. */
  async *unreadable(): AsyncGenerator<UnreadableText> {
    for (const column of this.columns) {
      for (let last: SealedRow | undefined; ;) {
        const rows = await this.read(column, last, '', '');
        for (const { key, tenantId, owner, sealed } of rows) {
          if (column.open(tenantId, owner, sealed) !== undefined) continue;
          yield { table: column.table, column: column.column, tenantId, key, sealed };
        }
        if (rows.length < BATCH_ROWS) break;
        last = rows.at(-1);
      }
    }
  }

  private renewBatch(
    column: SealedColumn,
    last: SealedRow | undefined,
    prefix: string,
  ): Promise<{ rows: readonly SealedRow[]; written: number }> {
    return this.database.transaction(async () => {
      const rows = await this.read(column, last, prefix, 'FOR NO KEY UPDATE');
      return { rows, written: await this.replace(column, rows) };
    });
  }

  /** The next rows whose text begins with the prefix. A second rotation waits for their locks, and then skips them. */
  private read(
    { table, column, rowKey: { key, type, owner, hasTenant } }: SealedColumn,
    last: SealedRow | undefined,
    prefix: string,
    lock: 'FOR NO KEY UPDATE' | '',
  ): Promise<SealedRow[]> {
    return allTenants(() =>
      this.database.query<SealedRow>(
        `SELECT ${key} AS key, ${hasTenant ? 'tenant_id' : 'NULL'} AS "tenantId", ${owner} AS owner, ${column} AS sealed FROM ${table}
          WHERE ($1::${type} IS NULL OR ${key} > $1) AND starts_with(${column}, $2)
          ORDER BY ${key} LIMIT ${BATCH_ROWS} ${lock}`,
        [last?.key ?? null, prefix],
      ),
    );
  }

  private async replace(column: SealedColumn, rows: readonly SealedRow[]): Promise<number> {
    const { key: primaryKey, type } = column.rowKey;
    const keys: SealedRow['key'][] = [];
    const texts: string[] = [];
    for (const { key, tenantId, owner, sealed } of rows) {
      const text = column.open(tenantId, owner, sealed);
      if (text === undefined) {
        const { table } = column;
        this.logger.warn({ msg: 'Failed to decrypt secret', table, tenantId, key });
        continue;
      }
      keys.push(key);
      texts.push(column.seal(tenantId, owner, text));
    }
    if (keys.length === 0) return 0;
    await allTenants(() =>
      this.database.query(
        `UPDATE ${column.table} AS target SET ${column.column} = renewal.sealed
           FROM unnest($1::${type}[], $2::text[]) AS renewal (key, sealed)
          WHERE target.${primaryKey} = renewal.key`,
        [keys, texts],
      ),
    );
    return keys.length;
  }
}

function allTenants<T>(work: () => T): T {
  return acrossTenants('rotation of SECRET_KEY', work);
}
