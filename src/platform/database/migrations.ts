import { readdir } from 'node:fs/promises';
import type { DataSource, MigrationInterface } from 'typeorm';

type Migration = new () => MigrationInterface;

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

/**
 * Runs the migrations that are due. In a database with which the series before 1.0.0 came to its end, the rows of the
 * baseline first replace those of the series. Throws OldSchemaError, before anything is changed, for an older one.
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  await adoptSeries(dataSource);
  await dataSource.runMigrations();
}

async function adoptSeries(dataSource: DataSource): Promise<void> {
  await dataSource.transaction(async (manager) => {
    const [table] = await manager.query<{ exists: boolean }[]>(
      "SELECT to_regclass('migrations') IS NOT NULL AS exists",
    );
    if (!table?.exists) return;
    const [last] = await manager.query<{ name: string; timestamp: string }[]>(
      'SELECT name, timestamp FROM migrations ORDER BY timestamp DESC LIMIT 1',
    );
    if (last === undefined || Number(last.timestamp) > SERIES_END) return;
    if (Number(last.timestamp) < SERIES_END) throw new OldSchemaError(last.name);
    await manager.query('DELETE FROM migrations');
    for (const migration of migrations.filter((one) => numberOf(one) <= BASELINE_END)) {
      await manager.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
        numberOf(migration),
        migration.name,
      ]);
    }
  });
}
