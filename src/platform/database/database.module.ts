import { Global, Inject, Module } from '@nestjs/common';
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { EntityTarget, ObjectLiteral } from 'typeorm';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { createDataSource } from './data-source.js';
import type { DataSourceSettings } from './data-source.js';
import { Database } from './database.js';
import { openEmbedded } from './embedded.js';
import type { EmbeddedStore } from './embedded.js';
import type { StatementObserver } from './pool.js';

const EMBEDDED_STORE = Symbol('EmbeddedStore');

export interface DatabaseOptions {
  readonly entities: readonly EntityTarget<ObjectLiteral>[];
  readonly observe?: StatementObserver | undefined;
  /** An open embedded store to use instead of DATA_DIR/pg. */
  readonly store?: EmbeddedStore | undefined;
}

/** Opens the store, runs what migrations are due, and closes it after everything else has stopped. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(EMBEDDED_STORE) private readonly store: EmbeddedStore | undefined,
  ) {}

  static for(options: DatabaseOptions): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [
        {
          provide: EMBEDDED_STORE,
          inject: [CONFIG],
          useFactory: async (config: Config) =>
            options.store ?? (config.embedded ? openEmbedded(config.DATA_DIR) : undefined),
        },
        {
          provide: DataSource,
          inject: [CONFIG, EMBEDDED_STORE],
          useFactory: async (config: Config, store: EmbeddedStore | undefined) => {
            const settings = {
              entities: options.entities,
              url: store ? undefined : config.DATABASE_URL,
              embedded: store?.database,
              poolSize: config.DATABASE_POOL_SIZE,
              observe: options.observe,
            };
            // The embedded store has one connection and one process: a lock would wait for itself.
            if (!store) await migrateServer(settings);
            const dataSource = await createDataSource(settings).initialize();
            if (store) await dataSource.runMigrations();
            return dataSource;
          },
        },
        Database,
      ],
      exports: [Database],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.destroy();
    await this.store?.close();
  }
}

/** Any number, the same in every process: those that start at once take turns on this advisory lock. */
const MIGRATION_LOCK = 6_039_001;

/** Runs the migrations that are due, one process at a time, over connections of their own: see `unlimited`. */
async function migrateServer(settings: DataSourceSettings): Promise<void> {
  const dataSource = createDataSource({ ...settings, poolSize: 2, unlimited: true });
  await dataSource.initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await dataSource.runMigrations();
  } finally {
    // The lock goes with its connection.
    await runner.release();
    await dataSource.destroy();
  }
}
