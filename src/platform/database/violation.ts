/** PostgreSQL's error codes, appendix A of its manual. */
const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const DEADLOCK = '40P01';

/** True for the error of a statement that would have broken a unique index; of the named one, where a name is given. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const cause = databaseError(error);
  if (cause?.code !== UNIQUE_VIOLATION) return false;
  return constraint === undefined || cause.constraint === constraint;
}

/** True for the error of a statement that refers to a row which is gone. */
export function isForeignKeyViolation(error: unknown): boolean {
  return databaseError(error)?.code === FOREIGN_KEY_VIOLATION;
}

/** True for the error of a statement with a value that the table cannot hold: another attempt would fail as well. */
export function isInvalidValue(error: unknown): boolean {
  const cause = databaseError(error);
  // Classes 22 (data) and 23 (constraints), and 54 (limits of the server).
  return typeof cause?.code === 'string' && /^(22|23|54)/.test(cause.code);
}

/** True for the error of the transaction that the database has given up so that others, which it blocked, go on. */
export function isDeadlock(error: unknown): boolean {
  return databaseError(error)?.code === DEADLOCK;
}

/**
 * True for the error of a statement that did not reach the database, or was cut off by it: a broken connection, a
 * server that stops or has no place left. The same statement may succeed a moment later.
 */
export function isConnectionFailure(error: unknown): boolean {
  const cause = databaseError(error);
  if (typeof cause?.code !== 'string')
    return /connection (terminated|ended)|timeout exceeded when trying to connect/i.test(
      cause?.message ?? '',
    );
  // Classes 08 (connection), 53 (resources) and 57 (an operator stops the server), and the network's own words.
  return /^(08|53|57)|^E(CONN|PIPE|TIMEDOUT|HOSTUNREACH)/.test(cause.code);
}

interface DatabaseError extends Error {
  readonly code?: unknown;
  readonly constraint?: unknown;
}

/** The driver's error, which TypeORM wraps and prepared statements do not. */
function databaseError(error: unknown): DatabaseError | undefined {
  if (!(error instanceof Error)) return undefined;
  return 'driverError' in error && error.driverError instanceof Error ? error.driverError : error;
}
