import { DependencyFault } from '../dependency/index.js';
import { ConflictError, UnavailableError } from '../error/index.js';
import type { DomainError } from '../error/index.js';
import { msg } from '../message/index.js';
import type { Message } from '../message/index.js';

/** PostgreSQL's error codes, appendix A of its manual. */
const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const DEADLOCK = '40P01';
/** Raised by the triggers of the migration 20261203-retention.ts, with the user's name as its detail. */
const LEGAL_HOLD = 'PLH01';

/** True for the error of a statement that would have broken a unique index; of the named one, where a name is given. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const cause = databaseError(error);
  if (cause?.code !== UNIQUE_VIOLATION) return false;
  return constraint === undefined || cause.constraint === constraint;
}

/** True for the error of a statement that refers to a row that no longer exists. */
export function isForeignKeyViolation(error: unknown): boolean {
  return databaseError(error)?.code === FOREIGN_KEY_VIOLATION;
}

/** True for the error of a statement with a value that the table cannot hold: another attempt would fail as well. */
export function isInvalidValue(error: unknown): boolean {
  const cause = databaseError(error);
  // Classes 22 (data) and 23 (constraints), and 54 (limits of the server).
  return typeof cause?.code === 'string' && /^(22|23|54)/.test(cause.code);
}

/** True for the error of a transaction that the database has aborted to resolve a deadlock. */
export function isDeadlock(error: unknown): boolean {
  return databaseError(error)?.code === DEADLOCK;
}

/** The connection of a transaction broke, so that nothing of it was stored, unless it broke during the commit. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
  readonly code = 'ECONNRESET';

  constructor(cause: unknown) {
    super('The connection to the database was lost during a transaction.', { cause });
  }
}

/** A statement that the server did not answer within its limit. Its connection is closed. */
export class StatementTimeoutError extends Error {
  override readonly name = 'StatementTimeoutError';
  readonly code = 'ETIMEDOUT';

  constructor(limitMs: number) {
    super(`The database did not answer a statement within ${limitMs} ms.`);
  }
}

/**
 * True for the error of a statement that did not reach the database, or was cut off by it: a broken connection, a
 * server that stops or has no place left. The same statement may succeed a moment later.
 */
export function isConnectionFailure(error: unknown): boolean {
  const cause = databaseError(error);
  // Classes 53 (resources) and 57 (an operator ends the statement or the server).
  return (
    isOutage(error) ||
    isUnreachable(error) ||
    (typeof cause?.code === 'string' && /^(53|57)/.test(cause.code))
  );
}

/** True for an error that says that the database cannot be reached, or refuses every connection or every write. */
export function isUnreachable(error: unknown): boolean {
  const cause = databaseError(error);
  if (!cause) return false;
  if (typeof cause.code !== 'string') return CONNECTION_MESSAGES.test(cause.message);
  if (cause.syscall === 'connect' || cause.syscall === 'getaddrinfo') return true;
  // Class 08 (connection), a server that is read-only, stops, starts or has no place left, and the network's own words.
  return /^(08|25006|57P0|53300)|^E(CONN|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH)/.test(cause.code);
}

/** Messages of the system in errors that have no code of their own for them. */
const NO_SPACE = /No space left on device|Disk quota exceeded|could not extend file/;
const READ_ONLY_DISK = /Read-only file system/;

const DISK_FULL = msg`The disk of the database is full. Ask an administrator to free space on it; no restart is needed then.`;
const DISK_FAILS = msg`The disk of the database fails. Ask an administrator to check it.`;

const SHORTAGES: Readonly<Record<string, Message>> = {
  '53100': DISK_FULL,
  '53200': msg`The database has no memory left. Try again later, or ask an administrator to give it more.`,
  '53300': msg`The database takes no more connections. Ask an administrator to raise max_connections, or to lower DATABASE_POOL_SIZE.`,
  '58030': DISK_FAILS,
};

/** The resource that a reachable server lacks; undefined for any other error. */
export function shortageOf(error: unknown): DependencyFault | undefined {
  const cause = databaseError(error);
  if (typeof cause?.code !== 'string') return undefined;
  const { code, message } = cause;
  // Classes 53 (resources), 58 (system) and XX (internal): other errors may quote what a user has written.
  const isOfSystem = /^(53|58|XX)/.test(code);
  if (isOfSystem && NO_SPACE.test(message)) return new DependencyFault(DISK_FULL, error);
  // PostgreSQL takes a disk that became read-only for a missing privilege.
  const isReadOnly = (isOfSystem || code === '42501') && READ_ONLY_DISK.test(message);
  const reason = isReadOnly ? DISK_FAILS : SHORTAGES[code];
  return reason && new DependencyFault(reason, error);
}

/** Errors of outages, with the cause where it is known. */
const outages = new WeakMap<Error, DependencyFault | undefined>();

/** Remembers the error as one of the database, because those of other servers look the same. */
export function markOutage(error: Error, fault?: DependencyFault): void {
  outages.set(error, fault);
}

/** True for the error of a statement of this service that failed because the database is away or lacks what it needs. */
export function isOutage(error: unknown): boolean {
  const cause = databaseError(error);
  return cause !== undefined && (cause instanceof ConnectionLostError || outages.has(cause));
}

/** True for the error of a service that is away and that this one needs. The change of its state is in the log. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof UnavailableError || isOutage(error);
}

/** The error that a caller gets for an outage; undefined for any other error. Dependency logs the outage itself. */
export function unavailableError(error: unknown): UnavailableError | undefined {
  if (!isOutage(error)) return undefined;
  const cause = databaseError(error);
  return new UnavailableError(msg`The database`, error, cause && outages.get(cause)?.reason);
}

export class LegalHoldError extends ConflictError {
  constructor(userName: string, cause: unknown) {
    super(
      msg`The records of ${userName} are under legal hold and cannot be deleted or changed. Ask an administrator to lift the hold.`,
      { cause, data: { errorCode: 'LEGAL_HOLD' } },
    );
  }
}

/** The error that a caller gets for one of the database: an outage, or a legal hold; undefined for any other error. */
export function domainErrorOf(error: unknown): DomainError | undefined {
  const cause = databaseError(error);
  if (cause?.code !== LEGAL_HOLD) return unavailableError(error);
  return new LegalHoldError(typeof cause.detail === 'string' ? cause.detail : '', error);
}

/** Errors of node-postgres that have no code. */
const CONNECTION_MESSAGES =
  /connection (terminated|ended)|timeout exceeded when trying to connect|^timeout expired$|is not queryable$/i;

interface DatabaseError extends Error {
  readonly code?: unknown;
  readonly constraint?: unknown;
  readonly detail?: unknown;
  readonly syscall?: unknown;
}

/** The driver's error, which TypeORM wraps and prepared statements do not. */
function databaseError(error: unknown): DatabaseError | undefined {
  if (!(error instanceof Error)) return undefined;
  return 'driverError' in error && error.driverError instanceof Error ? error.driverError : error;
}
