import { performance } from 'node:perf_hooks';
import pg from 'pg';
import type { PGlite } from '@electric-sql/pglite';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { errorType, startStatement } from '../tracing/index.js';
import type { Span } from '../tracing/index.js';
import { fairEmbedded } from './fair-embedded.js';
import { ServerConnections } from './server-connections.js';
import type { Availability, ServerLimits } from './server-connections.js';

/** Sees every statement before it runs, and keeps it from running by throwing. */
export type StatementObserver = (sql: string, values: readonly unknown[]) => void;

// int8 holds ids and counts here, all far below 2^53: read them as numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
// numeric holds prices: read them as numbers too.
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

interface DriverSettings {
  readonly embedded?: PGlite | undefined;
  readonly observe?: StatementObserver | undefined;
  /** Time limits of a server; undefined for the embedded database. */
  readonly limits?: ServerLimits | undefined;
  readonly availability?: Availability | undefined;
}

/**
 * The driver handed to TypeORM: node-postgres, with its pool observed and, for the embedded database,
 * connected to PGlite, which has a single connection.
 */
export function postgresDriver(settings: DriverSettings = {}): typeof pg {
  const { embedded, observe, limits, availability } = settings;
  const server = limits && new ServerConnections(limits, availability);
  const Client = observedClient(observe, server);

  class Pool extends pg.Pool {
    constructor(options: pg.PoolConfig = {}) {
      const embeddedSettings = embedded && embeddedOptions(embedded);
      super(Object.assign({}, options, embeddedSettings, { Client }));
      if (!server) return;
      this.on('acquire', (client) => server.idle.delete(client));
      this.on('release', (error: Error | undefined, client) => !error && server.idle.add(client));
      this.on('remove', (client) => server.idle.delete(client));
    }

    /** TypeORM hands over a callback. */
    override connect = ((...[callback]: Parameters<Connect>) => {
      const beganAt = performance.now();
      Reflect.apply(pg.Pool.prototype.connect as Connect, this, [
        (...[error, client, release]: Parameters<typeof callback>) => {
          if (error) server?.failed(error, beganAt);
          callback(error, client, release);
        },
      ]);
    }) as pg.Pool['connect'];
  }

  return { ...pg, Pool };
}

type Connect = (
  callback: (
    error: Error | undefined,
    client: pg.PoolClient | undefined,
    release: (error?: Error | boolean) => void,
  ) => void,
) => void;

function observedClient(
  observe: StatementObserver | undefined,
  server: ServerConnections | undefined,
): typeof pg.Client {
  return class ObservedClient extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      super({ ...config, ...(server && { connectionTimeoutMillis: server.limits.connectMs }) });
    }

    // node-postgres declares query() with a dozen overloads; only text and values are read here.
    override query = ((...args: [unknown, ...unknown[]]) => {
      const text = textOf(args[0]);
      observe?.(text, valuesOf(args));
      const span = startStatement(text);
      const answer = Reflect.apply(pg.Client.prototype.query, this, args) as unknown;
      if (answer instanceof Promise) {
        server?.limit(this, answer);
        if (span) endWith(span, answer);
      }
      return answer;
    }) as typeof pg.Client.prototype.query;
  };
}

function endWith(span: Span, answer: Promise<unknown>): void {
  answer.then(
    () => span.end(),
    (error: unknown) => span.end(errorType(error)),
  );
}

function embeddedOptions(database: PGlite): object {
  let isFirst = true;
  return {
    ...createPgConfig(fairEmbedded(database)),
    max: 1,
    idleTimeoutMillis: 0,
    // PGlite has one session for all its clients. Those of a pool share what they know of prepared statements; the
    // names that an earlier pool has left would be taken.
    onConnect: async (client: pg.ClientBase) => {
      if (isFirst) await client.query('DEALLOCATE ALL');
      isFirst = false;
    },
  };
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  if (typeof query === 'object' && query !== null && 'text' in query) return String(query.text);
  return '';
}

/** The values of a query, which are passed beside the text or in one object with it. */
function valuesOf([query, beside]: readonly unknown[]): readonly unknown[] {
  if (Array.isArray(beside)) return beside as unknown[];
  if (typeof query !== 'object' || query === null || !('values' in query)) return [];
  return Array.isArray(query.values) ? (query.values as unknown[]) : [];
}
