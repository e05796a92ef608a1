import pg from 'pg';
import type { PGlite } from '@electric-sql/pglite';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import { fairEmbedded } from './fair-embedded.js';

/** Sees every statement before it runs, and keeps it from running by throwing. */
export type StatementObserver = (sql: string, values: readonly unknown[]) => void;

// int8 holds ids and counts here, all far below 2^53: read them as numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
// numeric holds prices: read them as numbers too.
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

/**
 * The driver handed to TypeORM: node-postgres, with its pool observed and, for the embedded database,
 * connected to PGlite, which has a single connection.
 */
export function postgresDriver(embedded?: PGlite, observe?: StatementObserver): typeof pg {
  class ObservedClient extends pg.Client {
    // node-postgres declares query() with a dozen overloads; only text and values are read here.
    override query = ((...args: [unknown, ...unknown[]]) => {
      observe?.(textOf(args[0]), valuesOf(args));
      return Reflect.apply(pg.Client.prototype.query, this, args) as unknown;
    }) as typeof pg.Client.prototype.query;
  }

  class Pool extends pg.Pool {
    constructor(options: pg.PoolConfig = {}) {
      super({
        ...options,
        ...(embedded && embeddedOptions(embedded)),
        ...(observe && { Client: ObservedClient }),
      });
    }
  }

  return { ...pg, Pool };
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

/** They stand beside the text, or in the one object with it. */
function valuesOf([query, beside]: readonly unknown[]): readonly unknown[] {
  if (Array.isArray(beside)) return beside as unknown[];
  if (typeof query !== 'object' || query === null || !('values' in query)) return [];
  return Array.isArray(query.values) ? (query.values as unknown[]) : [];
}
