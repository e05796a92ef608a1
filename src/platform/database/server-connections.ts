import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { ClientBase } from 'pg';
import type { DependencyFault } from '../dependency/index.js';
import { currentStatementLimit } from './statement-limit.js';
import { isUnreachable, markOutage, shortageOf, StatementTimeoutError } from './violation.js';

/** Time limits of a server. */
export interface ServerLimits {
  /** Time limit for connecting. */
  readonly connectMs: number;
  /** Time limit for a statement, unless its work sets another one (`withStatementLimit`). */
  readonly statementMs: number;
}

/** Receives the calls that show that the server is away, lacks something or is back. */
export interface Availability {
  readonly isUp: boolean;
  failed(error: unknown, beganAt: number): void;
  succeeded(beganAt: number): void;
  limit(fault: DependencyFault): void;
}

/**
 * The connections of a pool to a server. A statement that is not answered within its limit closes its connection, because
 * nothing else shows that a peer is gone without a word. The idle connections are closed with it: they lead to the same
 * peer, and a new one costs less than another limit.
 */
export class ServerConnections {
  /** Connections that are not in use. */
  readonly idle = new Set<ClientBase>();

  constructor(
    readonly limits: ServerLimits,
    private readonly availability: Availability | undefined,
  ) {}

  /** Gives the statement, which was sent just now, its limit. */
  limit(client: ClientBase, answer: Promise<unknown>): void {
    const beganAt = performance.now();
    const limitMs = currentStatementLimit() ?? this.limits.statementMs;
    const end = afterTime(limitMs, () => close(client, new StatementTimeoutError(limitMs)));
    answer.then(
      () => {
        end();
        if (this.availability?.isUp === false) this.availability.succeeded(beganAt);
      },
      (error: unknown) => {
        end();
        this.failed(error, beganAt, client);
      },
    );
  }

  /** A statement of the client, or an attempt to connect, failed with the error. */
  failed(error: unknown, beganAt: number, client?: ClientBase): void {
    if (!(error instanceof Error)) return;
    const shortage = shortageOf(error);
    if (!isUnreachable(error)) {
      if (!shortage) return;
      markOutage(error, shortage);
      this.availability?.limit(shortage);
      return;
    }
    markOutage(error, shortage);
    this.availability?.failed(shortage ?? error, beganAt);
    // A server that has become read-only leaves its connections open.
    if (client) close(client, error);
    for (const idle of this.idle) {
      close(idle, new Error('Closed because another connection broke.'));
    }
    this.idle.clear();
  }
}

/**
 * Calls the action after the time, unless the function that it returns is called before. In a process that was busy
 * meanwhile, what has arrived by then is read first.
 */
function afterTime(delayMs: number, action: () => void): () => void {
  let reading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (reading = setImmediate(action)), delayMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}

/** Fails what waits for the connection, and makes the pool forget it. */
function close(client: ClientBase, error: Error): void {
  if (isConnected(client)) client.connection.stream.destroy(error);
}

/** Members of the client that node-postgres does not declare. */
interface Connected {
  readonly connection: { readonly stream: Socket };
}

function isConnected(client: object): client is Connected {
  return 'connection' in client;
}
