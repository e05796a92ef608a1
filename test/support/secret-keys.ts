import { loadConfig } from '../../src/platform/config/index.js';
import { Database, SealedColumns } from '../../src/platform/database/index.js';
import type { SealedColumn } from '../../src/platform/database/index.js';
import type { Plinth } from './plinth.js';

/** The keys of a process. */
export interface SecretKeys {
  readonly SECRET_KEY: string;
  readonly SECRET_KEY_PREVIOUS?: string;
}

/** The columns that the application encrypts, as a process with these keys has them. */
export function sealedUnder(
  { app }: Plinth,
  keys: SecretKeys,
  database = app.get(Database),
): SealedColumns {
  const sealed = new SealedColumns(database, loadConfig({ ...keys }));
  for (const { table, column, rowKey } of app.get(SealedColumns).columns) {
    sealed.add(table, column, rowKey);
  }
  return sealed;
}

/** The one encrypted column of a table. */
export function columnOf(sealed: SealedColumns, table: string): SealedColumn {
  const column = sealed.columns.find((one) => one.table === table);
  if (!column) throw new Error(`${table} has no encrypted column.`);
  return column;
}
