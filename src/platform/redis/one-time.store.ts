import type { Database } from '../database/index.js';
import { OneTimeRepository } from './one-time.repository.js';
import type { SharedRedis } from './shared-redis.js';

interface OneTimeStoreOptions {
  /** Set before each key. */
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

  /** Keeps the key alone. False if it is kept already. */
  async claim(key: string): Promise<boolean> {
    const { prefix, lifetimeSeconds } = this.options;
    // Claimed while Redis was away.
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
    // Without Redis, or kept while it was away.
    return shared ?? this.repository.take(name);
  }
}
