import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PGlite } from '@electric-sql/pglite';
import type { DataSource } from 'typeorm';
import { createDataSource } from './data-source.js';
import { openInMemory } from './embedded.js';
import { migrate, migrations, NewerSchemaError, OldSchemaError } from './migrations.js';

const names = migrations.map(({ name }) => name);

describe('the migrations of the folder', () => {
  it('are one class a file, with the date of the file and a number of its own', () => {
    const dates = readdirSync(new URL('migrations/', import.meta.url)).map((file) =>
      file.slice(0, 8),
    );
    expect(names.map((name) => name.slice(-13, -5)).sort()).toEqual(dates.sort());
    expect(new Set(names.map((name) => name.slice(-13))).size).toBe(names.length);
  });
});

describe('a database of the series before 1.0.0', () => {
  let embedded: PGlite;
  let dataSource: DataSource;

  beforeAll(async () => {
    embedded = await openInMemory();
    // The schema with which the series ended is the baseline.
    const baseline = migrations.filter(({ name }) => name.slice(-13, -5) === '20261127');
    const series = createDataSource({ embedded, poolSize: 1 });
    await series.setOptions({ migrations: baseline }).initialize();
    await series.runMigrations();
    await series.destroy();
    dataSource = await createDataSource({ embedded, poolSize: 1 }).initialize();
    await dataSource.query('INSERT INTO signing_key (name, sealed) VALUES ($1, $2)', ['one', 'x']);
  });

  afterAll(async () => {
    await dataSource.destroy();
    await embedded.close();
  });

  /** The rows of `migrations` as the series leaves them that ended with this one. */
  async function endSeriesWith(name: string): Promise<void> {
    await dataSource.query('DELETE FROM migrations');
    for (const migration of ['Access1763683200001', name]) {
      await dataSource.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
        Number(migration.slice(-13)),
        migration,
      ]);
    }
  }

  async function appliedMigrations(): Promise<string[]> {
    const rows: { name: string }[] = await dataSource.query(
      'SELECT name FROM migrations ORDER BY id',
    );
    return rows.map(({ name }) => name);
  }

  it('is adopted at its last step: the rows of the baseline replace those of the series', async () => {
    await endSeriesWith('FurtherRevisions1763683200069');
    for (let start = 0; start < 2; start += 1) await migrate(dataSource);

    expect(await appliedMigrations()).toEqual(names);
    expect(await dataSource.query('SELECT sealed FROM signing_key')).toEqual([{ sealed: 'x' }]);
  });

  it('is refused before its last step, and says what to do', async () => {
    await endSeriesWith('VectorHomes1763683200067');
    const failure: unknown = await migrate(dataSource).catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(OldSchemaError);
    expect(failure).toMatchObject({
      message:
        'The database was last migrated by an earlier version than the last one before 1.0.0 (VectorHomes1763683200067). ' +
        'Nothing was changed. Start it once with commit a1bbbd3a, then with this version.',
    });
    expect(await appliedMigrations()).toEqual(['Access1763683200001', 'VectorHomes1763683200067']);
    expect(await dataSource.query('SELECT sealed FROM signing_key')).toEqual([{ sealed: 'x' }]);
  });

  it('of a newer release is used where that only adds to it, and refused where it has removed from it', async () => {
    await dataSource.query('DELETE FROM migrations');
    for (const name of [...names, 'FutureColumn2099010100001']) {
      await dataSource.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
        Number(name.slice(-13)),
        name,
      ]);
    }
    const worksFrom = (number: string) =>
      dataSource.query(
        `COMMENT ON TABLE migrations IS 'Works with releases from migration ${number} on'`,
      );
    await worksFrom('2026112700009');
    await migrate(dataSource);
    await worksFrom('2099010100000');
    await expect(migrate(dataSource)).rejects.toThrow(
      /newer release \(FutureColumn2099010100001\).+Start the newer release, or restore a backup/,
    );
    await dataSource.query('COMMENT ON TABLE migrations IS NULL');
    await expect(migrate(dataSource)).rejects.toBeInstanceOf(NewerSchemaError);
    await dataSource.query("DELETE FROM migrations WHERE name = 'FutureColumn2099010100001'");
    await migrate(dataSource);
    expect(
      await dataSource.query("SELECT obj_description('migrations'::regclass, 'pg_class') AS text"),
    ).toEqual([{ text: 'Works with releases from migration 2026112700009 on' }]);
  });
});
