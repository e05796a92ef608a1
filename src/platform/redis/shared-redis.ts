import { performance } from 'node:perf_hooks';
import type { Redis } from 'ioredis';
import type { Dependency } from '../dependency/index.js';

/** How often a connection that is up is probed, so that an outage shows before a request meets it. */
const PROBE_EVERY_MS = 5_000;

const PROBE_KEY = 'probe';
const PROBE_KEY_SECONDS = 60;

/**
 * Redis behind a circuit breaker, or no Redis at all. All that uses Redis does so through `run`, which names what the
 * process does by itself otherwise: Redis shares state between processes, and no request depends on it.
 */
export class SharedRedis {
  private readonly receivers: Redis[] = [];
  private readonly pending = new Set<(error: Error) => void>();

  constructor(
    private readonly connection: Redis | undefined,
    private readonly dependency: Dependency,
  ) {
    if (!connection) return;
    this.watch(connection);
    dependency.onChange((isUp) => {
      if (isUp) return;
      // Commands under way fail with the first failure instead of waiting for their own time limits.
      for (const reject of this.pending) reject(new Error('Redis is not available.'));
      this.pending.clear();
    });
    dependency.probeWith(() => this.probe(connection), { everyMs: PROBE_EVERY_MS });
  }

  get isConfigured(): boolean {
    return this.connection !== undefined;
  }

  get isUp(): boolean {
    return this.dependency.isUp;
  }

  /** The prefix of every key; empty without Redis. */
  get keyPrefix(): string {
    return this.connection?.options.keyPrefix ?? '';
  }

  /**
   * The result of the command; of `otherwise` without Redis, at once while Redis is away, and when the command fails. A
   * command that fails may have been executed.
   */
  async run<T>(command: (redis: Redis) => Promise<T>, otherwise: () => T | Promise<T>): Promise<T> {
    if (!this.connection || !this.dependency.isUp) return otherwise();
    const beganAt = performance.now();
    try {
      return await this.unlessDown(command(this.connection));
    } catch (error) {
      this.dependency.failed(error, beganAt);
    }
    return otherwise();
  }

  /** A connection of its own to receive events on; undefined without Redis. Closed with the others. */
  openReceiver(): Redis | undefined {
    const receiver = this.connection?.duplicate();
    if (!receiver) return undefined;
    this.watch(receiver);
    this.receivers.push(receiver);
    return receiver;
  }

  /** Whether Redis answers now; false at once while it is away. */
  ping(): Promise<boolean> {
    return this.run(
      async (redis) => {
        await redis.ping();
        return true;
      },
      () => false,
    );
  }

  /** Reports a failure of another connection to the same server. */
  failed(error: unknown): void {
    this.dependency.failed(error);
  }

  /** Called when Redis is back after an outage. Returns the way to unsubscribe. */
  onRecovered(listener: () => void): () => void {
    return this.dependency.onChange((isUp) => {
      if (isUp) listener();
    });
  }

  close(): void {
    this.dependency.close();
    for (const connection of [...this.receivers, this.connection]) connection?.disconnect();
  }

  /** Each failed attempt to connect is an event of its own; the dependency logs the first one. */
  private watch(connection: Redis): void {
    connection.on('error', (error: Error) => this.dependency.failed(error));
    connection.on('close', () => this.dependency.failed(new Error('The connection was closed.')));
    connection.on('ready', () => {
      if (!this.dependency.isUp) void this.dependency.check();
    });
  }

  /** Probes with a write, because a Redis that is full or read-only still answers PING. */
  private async probe(connection: Redis): Promise<void> {
    await Promise.all([
      reconnectIfSilent(connection, connection.set(PROBE_KEY, '1', 'EX', PROBE_KEY_SECONDS)),
      ...this.receivers.map((receiver) => reconnectIfSilent(receiver, receiver.ping())),
    ]);
  }

  private unlessDown<T>(command: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.pending.add(reject);
      command.then(resolve, reject).finally(() => this.pending.delete(reject));
    });
  }
}

/** ioredis keeps a connection that does not answer, because the socket is open: replaces it. */
async function reconnectIfSilent(connection: Redis, answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    const isSilent = error instanceof Error && error.message === 'Command timed out';
    // Until a server has answered its first commands, the status of a connection is "connect".
    const isOpen = connection.status === 'ready' || connection.status === 'connect';
    if (isSilent && isOpen) connection.disconnect(true);
    throw error;
  }
}
