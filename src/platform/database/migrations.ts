import { readdir } from 'node:fs/promises';
import type { DataSource, EntityManager, MigrationInterface } from 'typeorm';

/**
 * A migration that removes what an earlier release uses says so by `worksFrom`: the number of the last migration of the oldest
 * release that works on its schema. Others only add, and every release from 1.0.0 on works on theirs (CONTRIBUTING.md, A migration).
 */
type Migration = (new () => MigrationInterface) & { readonly worksFrom?: number };

/** A file of the folder `migrations`: 20261127-identity.ts, or .js where it is built. */
const FILE = /^\d{8}-[a-z-]+\.[jt]s$/;

/** The migrations of the folder, in the order of the numbers that their class names end with, which is TypeORM's. */
export const migrations: readonly Migration[] = await loadMigrations(
  new URL('migrations/', import.meta.url),
);

async function loadMigrations(folder: URL): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => FILE.test(file));
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, folder).href) as Promise<Record<string, Migration>>),
  );
  return modules
    .flatMap((module) => Object.values(module))
    .sort((one, other) => numberOf(one) - numberOf(other));
}

function numberOf({ name }: Migration): number {
  return Number(name.slice(-13));
}

const newest = Math.max(...migrations.map(numberOf));

/** The migrations up to this one are the baseline of 1.0.0: the schema with which the series before it ended. */
const BASELINE_END = 2026112700009;
const SERIES_END = 1763683200069;

/** A database of a version before 1.0.0 from whose schema no migration leads on. */
export class OldSchemaError extends Error {
  override readonly name = 'OldSchemaError';

  constructor(lastMigration: string) {
    super(
      `The database was last migrated by an earlier version than the last one before 1.0.0 (${lastMigration}). ` +
        'Nothing was changed. Start it once with commit a1bbbd3a, then with this version.',
    );
  }
}

/** A database that a newer release has migrated, and on which this one does not work. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError';

  constructor(lastMigration: string) {
    super(
      `The database was migrated by a newer release (${lastMigration}), and this release does not work on it. Nothing was changed. ` +
        'Start the newer release, or restore a backup that was made before (docs/OPERATIONS.md, Backup and restore).',
    );
  }
}

/** Whether the migration with this class name is newer than all of this release. */
export function isNewerMigration(name: string): boolean {
  return Number(name.slice(-13)) > newest;
}

/**
 * Runs the migrations that are due. In a database with which the series before 1.0.0 came to its end, the rows of the
 * baseline first replace those of the series. Throws OldSchemaError, before anything is changed, for an older one, and
 * NewerSchemaError where a newer release has removed what this one uses.
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  const isNewer = await dataSource.transaction((manager) => prepare(manager));
  await dataSource.runMigrations();
  if (!isNewer) await recordCompatibility(dataSource);
}

/** Checks the rows of `migrations`, and adopts those of the series. Returns whether a newer release has migrated the database. */
async function prepare(manager: EntityManager): Promise<boolean> {
  const [table] = await manager.query<{ exists: boolean; comment: string | null }[]>(
    `SELECT to_regclass('migrations') IS NOT NULL AS exists,
            obj_description(to_regclass('migrations'), 'pg_class') AS comment`,
  );
  if (!table?.exists) return false;
  const [last] = await manager.query<{ name: string; timestamp: string }[]>(
    'SELECT name, timestamp FROM migrations ORDER BY timestamp DESC LIMIT 1',
  );
  if (last === undefined) return false;
  if (isNewerMigration(last.name)) {
    const worksFrom = Number(COMPATIBILITY.exec(table.comment ?? '')?.[1] ?? Infinity);
    if (worksFrom > newest) throw new NewerSchemaError(last.name);
    return true;
  }
  if (Number(last.timestamp) > SERIES_END) return false;
  if (Number(last.timestamp) < SERIES_END) throw new OldSchemaError(last.name);
  await manager.query('DELETE FROM migrations');
  for (const migration of migrations.filter((one) => numberOf(one) <= BASELINE_END)) {
    await manager.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
      numberOf(migration),
      migration.name,
    ]);
  }
  return false;
}

/** The comment of the table `migrations`, by which an earlier release knows whether it works on the schema. */
const COMPATIBILITY = /^Works with releases from migration (\d+) on$/;

async function recordCompatibility(dataSource: DataSource): Promise<void> {
  const worksFrom = Math.max(BASELINE_END, ...migrations.map((one) => one.worksFrom ?? 0));
  const comment = `Works with releases from migration ${worksFrom} on`;
  const [table] = await dataSource.query<{ comment: string | null }[]>(
    "SELECT obj_description(to_regclass('migrations'), 'pg_class') AS comment",
  );
  if (table?.comment !== comment) {
    await dataSource.query(`COMMENT ON TABLE migrations IS '${comment}'`);
  }
}
