import { AsyncLocalStorage } from 'node:async_hooks';

/** Time limit of statements that read or change whole tables: sweeps, deletions of tenants and knowledge bases, exports. */
export const LONG_STATEMENT_MS = 600_000;

/** Time limit of every other statement on a server. */
export const STATEMENT_LIMIT = { ms: 20_000 };

const limit = new AsyncLocalStorage<number>();

/**
 * Runs the work with this time limit, in milliseconds, for every statement on a server instead of STATEMENT_LIMIT. A statement that exceeds it fails, and its connection is closed.
 */
export function withStatementLimit<T>(limitMs: number, work: () => T): T {
  return limit.run(limitMs, work);
}

/** `withStatementLimit` of ten minutes. */
export function withLongStatements<T>(work: () => T): T {
  return limit.run(LONG_STATEMENT_MS, work);
}

/** The limit of the running work; undefined for the default. */
export function currentStatementLimit(): number | undefined {
  return limit.getStore();
}
