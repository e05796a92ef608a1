import { sep } from 'node:path';
import { ConfigError, dataDirProblem } from '../config/index.js';
import type { Config } from '../config/index.js';
import {
  DirectoryInUseError,
  isConnectionFailure,
  NewerSchemaError,
  OldSchemaError,
} from '../database/index.js';
import { DependencyFault } from '../dependency/index.js';
import { DomainError } from '../error/index.js';
import { withoutSecretsInText } from './log.js';
import { sourceStack } from './source-stack.js';

/** The message for the person whose start of the process failed: the problem and, if it is known, what to do. */
export function startFailure(error: unknown, config?: Config): string {
  if (error instanceof ConfigError) return error.explanation;
  if ([DirectoryInUseError, NewerSchemaError, OldSchemaError].some((one) => error instanceof one)) {
    return (error as Error).message;
  }
  if (error instanceof DomainError) {
    const reason = error.cause instanceof DependencyFault ? ` ${error.cause.message}` : '';
    return withoutSecretsInText(`Plinth could not start: ${error.message}${reason}`);
  }
  const systemReason = config && isSystemError(error) ? systemFailure(error, config) : undefined;
  const cause = error instanceof Error ? sourceStack(error.stack ?? error.message) : String(error);
  return systemReason ?? withoutSecretsInText(`Plinth could not start: ${cause}`);
}

interface SystemError extends Error {
  readonly code: string;
  readonly syscall?: string;
  readonly severity?: string;
  /** The path of a file. */
  readonly path?: string;
  /** The address of a socket, which may also be a path. */
  readonly address?: string;
  /** The name that has no address. */
  readonly hostname?: string;
}

function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

function systemFailure(error: SystemError, config: Config): string | undefined {
  const { code, syscall, hostname, path, address = '' } = error;
  const { DATA_DIR, HOST } = config;
  if (`${path ?? address}${sep}`.startsWith(`${DATA_DIR}${sep}`)) {
    return dataDirProblem(DATA_DIR, error);
  }
  if (syscall === 'listen') return listenFailure(code, config);
  if (syscall === 'getaddrinfo' && hostname === HOST) return listenFailure('ENOTFOUND', config);
  const ofServer =
    error.severity !== undefined || error.message === '' || isConnectionFailure(error);
  if (config.embedded || !ofServer) return undefined;
  // An AggregateError of several refused addresses has a code and no message.
  const cause = withoutSecretsInText(error.message || code);
  return `The PostgreSQL server of DATABASE_URL cannot be used: ${cause}. Check the address, user, password and database.`;
}

function listenFailure(code: string, { HOST, PORT }: Config): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${PORT} on ${HOST} is in use. Stop what uses it, or set PORT to another one; PORT=0 takes any free one.`;
    case 'EACCES':
      return `This user may not open port ${PORT}. Set PORT to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${HOST} is not an address of this machine. Set it to 127.0.0.1, or to 0.0.0.0 for all networks.`;
    default:
      return `Plinth cannot listen on ${HOST} port ${PORT}: ${code}.`;
  }
}
