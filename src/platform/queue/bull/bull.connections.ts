import { setImmediate as turn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';

type Purpose = 'client' | 'subscriber' | 'bclient';

const LONGEST_PAUSE_MS = 1_000;

const common: RedisOptions = {
  connectTimeout: 5_000,
  // ioredis waits this long for a connection to end, also for one that has ended.
  disconnectTimeout: 200,
  retryStrategy: (times) => Math.min(times * 50, LONGEST_PAUSE_MS),
};

const options: Readonly<Record<Purpose, RedisOptions>> = {
  // Whoever adds a job waits for these commands, so they fail soon.
  client: { ...common, maxRetriesPerRequest: 1, commandTimeout: 5_000 },
  // Bull insists on both: its workers wait through an outage.
  subscriber: { ...common, maxRetriesPerRequest: null, enableReadyCheck: false },
  bclient: { ...common, maxRetriesPerRequest: null, enableReadyCheck: false },
};

/** The connections of a process: one for commands, one for messages, and one for each kind whose jobs it waits for. */
export class BullConnections {
  private readonly logger = new Logger('JobQueue');
  private readonly connections = new Map<string, Redis>();
  private away = false;
  private closed = false;

  constructor(
    private readonly url: string,
    private readonly connectionName: string,
  ) {}

  /** Whether the last that was heard of Redis was good. */
  get ready(): boolean {
    return !this.away;
  }

  /** The connection that Bull asks for; workers of one kind wait on theirs, the others are shared by all kinds. */
  open(purpose: Purpose, kind: string): Redis {
    const name = purpose === 'bclient' ? workersOf(kind) : purpose;
    const existing = this.connections.get(name);
    if (existing) return existing;
    const connection = new Redis(this.url, {
      ...options[purpose],
      connectionName: this.connectionName,
    });
    // Each queue listens on the shared ones.
    connection.setMaxListeners(0);
    connection.on('error', (error) => this.note(error));
    connection.on('ready', () => this.noteReady());
    // Bull opens one again while it pauses and closes, at times after everything was closed.
    connection.on('connect', () => {
      if (this.closed) connection.disconnect();
    });
    this.connections.set(name, connection);
    return connection;
  }

  /** Ends the waiting of a kind's workers at once. */
  cut(kind: string): void {
    this.connections.get(workersOf(kind))?.disconnect();
  }

  /** Resolves when Redis has answered what was sent so far, or is away: it answers in order. */
  async settled(): Promise<void> {
    // What follows the end of a job, Bull sends before this goes on.
    await turn();
    await this.connections
      .get('client')
      ?.ping()
      .catch(() => undefined);
  }

  close(): void {
    this.closed = true;
    for (const connection of this.connections.values()) end(connection);
  }

  /** One line when Redis goes away, and one when it is back, however many connections notice. */
  private note(error: Error): void {
    if (this.away || this.closed) return;
    this.away = true;
    this.logger.warn({ msg: 'Redis is not reachable; jobs wait', err: error });
  }

  private noteReady(): void {
    if (!this.away) return;
    this.away = false;
    this.logger.log({ msg: 'Redis is back; jobs go on' });
  }
}

function end(connection: Redis): void {
  connection.disconnect();
  if (connection.status !== 'reconnecting') return;
  // Between two attempts ioredis keeps the commands that wait; one last attempt lets them fail.
  connection.connect().then(
    () => connection.disconnect(),
    () => undefined,
  );
}

function workersOf(kind: string): string {
  return `workers of ${kind}`;
}
