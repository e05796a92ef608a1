import type { PGlite } from '@electric-sql/pglite';
import { DataSource } from 'typeorm';
import type { DataSourceOptions } from 'typeorm';
import { migrations } from './migrations.js';
import { postgresDriver } from './pool.js';
import type { StatementObserver } from './pool.js';
import type { Availability } from './server-connections.js';
import { SnakeNamingStrategy } from './snake-naming.strategy.js';
import { LONG_STATEMENT_MS } from './statement-limit.js';

export interface DataSourceSettings {
  /** Classes, or patterns of the files that hold them; none for migrations alone. */
  readonly entities?: DataSourceOptions['entities'];
  /** Exactly one of the two: a server's address, or an open embedded database. */
  readonly url?: string | undefined;
  readonly embedded?: PGlite | undefined;
  readonly poolSize: number;
  readonly observe?: StatementObserver | undefined;
  readonly availability?: Availability | undefined;
  /** How long a server may take to answer a statement; none for migrations, which may take as long as they need. */
  readonly statementMs?: number | undefined;
}

/** Time limits for connecting to a server, and for a statement that waits for a connection of the pool. */
const CONNECT_MS = 10_000;
const POOL_WAIT_MS = 30_000;

/** The system probes a silent connection after this time and then once a second; after ten probes it is dead. */
const KEEP_ALIVE_MS = 10_000;

/** How often the server looks whether the client of a running statement is still there. */
const CLIENT_CHECK_MS = 10_000;

/**
 * Fails like a refused write if the server is read-only: another server behind the same address may accept writes, and a
 * pool would keep the connections that it has.
 */
const REFUSE_READ_ONLY = `DO $$ BEGIN
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'the server is read-only (transaction_read_only is on)';
  END IF;
END $$`;

interface Connected {
  query(sql: string): Promise<unknown>;
}

/** Options of node-postgres' pool. What belongs to a session is set on each connection, because not every proxy passes it on. */
function serverOptions({ statementMs }: DataSourceSettings): object {
  const prepare = async (client: Connected): Promise<void> => {
    await client.query(`SET statement_timeout = ${LONG_STATEMENT_MS}; ${REFUSE_READ_ONLY}`);
    // A server on a system that cannot look refuses this.
    await client
      .query(`SET client_connection_check_interval = ${CLIENT_CHECK_MS}`)
      .catch(() => undefined);
  };
  return {
    connectionTimeoutMillis: POOL_WAIT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(statementMs !== undefined && { onConnect: prepare }),
  };
}

/** The longest time that a timer accepts. */
const UNLIMITED_MS = 2 ** 31 - 1;

/** TypeORM's options for either store. The schema comes from migrations only, never from `synchronize`. */
export function dataSourceOptions(settings: DataSourceSettings) {
  return {
    type: 'postgres',
    driver: postgresDriver({
      embedded: settings.embedded,
      observe: settings.observe,
      availability: settings.availability,
      ...(settings.url && {
        limits: { connectMs: CONNECT_MS, statementMs: settings.statementMs ?? UNLIMITED_MS },
      }),
    }),
    ...(settings.url && { url: settings.url }),
    poolSize: settings.poolSize,
    entities: settings.entities ?? [],
    migrations: [...migrations],
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
