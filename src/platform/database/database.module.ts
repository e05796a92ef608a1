import { Global, Inject, Module } from '@nestjs/common';
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { DataSourceOptions } from 'typeorm';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Dependencies, DependencyModule } from '../dependency/index.js';
import { createDataSource, dataSourceOptions } from './data-source.js';
import { Database } from './database.js';
import { openEmbedded } from './embedded.js';
import type { EmbeddedStore } from './embedded.js';
import { migrate } from './migrations.js';
import type { StatementObserver } from './pool.js';
import { SealedColumns } from './sealed-columns.js';
import { STATEMENT_LIMIT, withStatementLimit } from './statement-limit.js';
import { shortageOf } from './violation.js';
import { TenantCheck } from './tenant-check.js';

const EMBEDDED_STORE = Symbol('EmbeddedStore');

/** How long a probe of a database that was away waits for its answer. */
const PROBE_MS = 2_000;

export interface DatabaseOptions {
  readonly observe?: StatementObserver | undefined;
  /** An open embedded store to use instead of DATA_DIR/pg. */
  readonly store?: EmbeddedStore | undefined;
}

/**
 * Opens the store, runs what migrations are due, and closes it after everything else has stopped. Features register
 * their entities with `TypeOrmModule.forFeature`; their repositories take Database, which knows the open transaction.
 */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(EMBEDDED_STORE) private readonly store: EmbeddedStore | undefined,
    dependencies: Dependencies,
  ) {
    const availability = dependencies.of('store');
    availability.probeWith(() =>
      withStatementLimit(PROBE_MS, async () => {
        await dataSource.query('SELECT 1');
        if (availability.isLimited && (await hasSpace(dataSource))) availability.unlimit();
      }),
    );
  }

  static for({ observe, store: storeOverride }: DatabaseOptions = {}): DynamicModule {
    const tenantCheck = new TenantCheck();
    return {
      module: DatabaseModule,
      imports: [
        DependencyModule,
        TypeOrmModule.forRootAsync({
          inject: [CONFIG, EMBEDDED_STORE, Dependencies],
          useFactory: (
            config: Config,
            store: EmbeddedStore | undefined,
            dependencies: Dependencies,
          ) => ({
            ...dataSourceOptions({
              url: store ? undefined : config.DATABASE_URL,
              embedded: store?.database,
              poolSize: config.DATABASE_POOL_SIZE,
              statementMs: STATEMENT_LIMIT.ms,
              availability: dependencies.of('store'),
              observe: (sql, values) => {
                tenantCheck.check(sql, values);
                observe?.(sql, values);
              },
            }),
            autoLoadEntities: true,
            // A store that cannot be opened ends the start at once, with its own message.
            toRetry: () => false,
          }),
          dataSourceFactory: (options) => openDataSource(options, tenantCheck),
        }),
      ],
      providers: [
        {
          provide: EMBEDDED_STORE,
          inject: [CONFIG],
          useFactory: async (config: Config) =>
            storeOverride ?? (config.embedded ? openEmbedded(config.DATA_DIR) : undefined),
        },
        Database,
        SealedColumns,
      ],
      exports: [Database, EMBEDDED_STORE, SealedColumns],
    };
  }

  /** The store is closed after its connections, whichever module's hook comes first. */
  async onApplicationShutdown(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
    await this.store?.close();
  }
}

/** A megabyte of rows that are gone with the transaction. Temporary tables are where the others of the database are. */
const TAKE_SPACE = `
  CREATE TEMPORARY TABLE plinth_space ON COMMIT DROP AS SELECT generate_series(1, 30000) AS number`;

/** Whether the server takes writes again. One that it refuses for another reason says nothing of its space. */
async function hasSpace(dataSource: DataSource): Promise<boolean> {
  try {
    await dataSource.query(TAKE_SPACE);
    return true;
  } catch (error) {
    return shortageOf(error) === undefined;
  }
}

/** A connected data source with a current schema, whose tables of tenants are checked from here on. */
async function openDataSource(
  options: DataSourceOptions | undefined,
  tenantCheck: TenantCheck,
): Promise<DataSource> {
  if (options?.type !== 'postgres') throw new Error('The store is PostgreSQL.');
  const { url } = options;
  if (url !== undefined) await migrateServer(url);
  const dataSource = await new DataSource(options).initialize();
  // The embedded store has one connection and one process: a lock would wait for itself.
  if (url === undefined) await migrate(dataSource);
  tenantCheck.protect(dataSource.entityMetadatas);
  return dataSource;
}

/** Any number, the same in every process: those that start at once take turns on this advisory lock. */
const MIGRATION_LOCK = 6_039_001;

/** Runs the migrations that are due, one process at a time, over connections of their own, without a time limit. */
export async function migrateServer(url: string): Promise<void> {
  const dataSource = createDataSource({ url, poolSize: 2 });
  await dataSource.initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await migrate(dataSource);
  } finally {
    // The lock goes with its connection.
    await runner.release();
    await dataSource.destroy();
  }
}
