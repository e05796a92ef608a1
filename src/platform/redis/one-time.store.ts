import type { Database } from '../database/index.js';
import { OneTimeRepository } from './one-time.repository.js';
import type { SharedRedis } from './shared-redis.js';

interface OneTimeStoreOptions {
  /** The prefix of each key. */
  readonly prefix: string;
  readonly lifetimeSeconds: number;
}

/**
 * Short-lived texts that can be read once, by any process: in Redis if configured, and in the database without it and while
 * it is away.
 */
export class OneTimeStore {
  private readonly repository: OneTimeRepository;

  constructor(
    private readonly redis: SharedRedis,
    database: Database,
    private readonly options: OneTimeStoreOptions,
  ) {
    this.repository = new OneTimeRepository(database);
  }

  async keep(key: string, text: string): Promise<void> {
    const { prefix, lifetimeSeconds } = this.options;
    await this.redis.run(
      async (redis) => {
        await redis.set(prefix + key, text, 'EX', lifetimeSeconds);
      },
      async () => {
        await this.repository.insert(prefix + key, text, lifetimeSeconds);
      },
    );
  }

  /** Stores the key without a text; false if it is already stored. */
  async claim(key: string): Promise<boolean> {
    const { prefix, lifetimeSeconds } = this.options;
    // The key was claimed while Redis was away.
    if (this.redis.isConfigured && (await this.repository.has(prefix + key))) return false;
    return this.redis.run(
      async (redis) => (await redis.set(prefix + key, '1', 'EX', lifetimeSeconds, 'NX')) === 'OK',
      () => this.repository.insert(prefix + key, '1', lifetimeSeconds),
    );
  }

  /** Returns the text and deletes it. */
  async take(key: string): Promise<string | undefined> {
    const name = this.options.prefix + key;
    const shared = await this.redis.run(
      async (redis) => (await redis.getdel(name)) ?? undefined,
      () => undefined,
    );
    // The text is in the database without Redis, or if it was stored while Redis was away.
    return shared ?? this.repository.take(name);
  }
}
