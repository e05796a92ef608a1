import type { PGlite } from '@electric-sql/pglite';
import { DataSource } from 'typeorm';
import type { DataSourceOptions } from 'typeorm';
import { migrations } from './migrations/index.js';
import { postgresDriver } from './pool.js';
import type { StatementObserver } from './pool.js';
import { SnakeNamingStrategy } from './snake-naming.strategy.js';

export interface DataSourceSettings {
  /** Classes, or patterns of the files that hold them; none for migrations alone. */
  readonly entities?: DataSourceOptions['entities'];
  /** Exactly one of the two: a server's address, or an open embedded database. */
  readonly url?: string | undefined;
  readonly embedded?: PGlite | undefined;
  readonly poolSize: number;
  readonly observe?: StatementObserver | undefined;
  /** For migrations, which may take as long as they need. */
  readonly unlimited?: boolean;
}

/**
 * Limits for a server that does not answer. No statement of the service comes near them: the longest read whole tables
 * and delete whole tenants.
 */
const CONNECT_MS = 30_000;
const STATEMENT_MS = 600_000;

interface Connected {
  query(sql: string): Promise<unknown>;
}

/** Options of node-postgres' pool. The limit is set on each connection, because not every proxy passes it on. */
function serverOptions({ unlimited }: DataSourceSettings): object {
  const limit = (client: Connected) => client.query(`SET statement_timeout = ${STATEMENT_MS}`);
  return {
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(!unlimited && { onConnect: limit }),
  };
}

/** TypeORM's options for either store. The schema comes from migrations only, never from `synchronize`. */
export function dataSourceOptions(settings: DataSourceSettings) {
  return {
    type: 'postgres',
    driver: postgresDriver(settings.embedded, settings.observe),
    ...(settings.url && { url: settings.url }),
    poolSize: settings.poolSize,
    entities: settings.entities ?? [],
    migrations,
    migrationsTransactionMode: 'each',
    namingStrategy: new SnakeNamingStrategy(),
    synchronize: false,
    installExtensions: false,
    extra: { application_name: 'plinth', ...(settings.url && serverOptions(settings)) },
  } satisfies DataSourceOptions;
}

export function createDataSource(settings: DataSourceSettings): DataSource {
  return new DataSource(dataSourceOptions(settings));
}
