import { LRUCache } from 'lru-cache';
import type { SharedRedis } from './shared-redis.js';

interface OneTimeStoreOptions {
  /** Set before each key. */
  readonly prefix: string;
  readonly lifetimeSeconds: number;
}

const MOST_LOCAL = 10_000;

/**
 * Short-lived texts that can be read once: in Redis if configured, so that any process can read them. Without it, and while
 * it is away, only the process that kept a text can.
 */
export class OneTimeStore {
  private readonly local: LRUCache<string, string>;

  constructor(
    private readonly redis: SharedRedis,
    private readonly options: OneTimeStoreOptions,
  ) {
    this.local = new LRUCache({ max: MOST_LOCAL, ttl: options.lifetimeSeconds * 1_000 });
  }

  async keep(key: string, text: string): Promise<void> {
    const { prefix, lifetimeSeconds } = this.options;
    await this.redis.run(
      async (redis) => {
        await redis.set(prefix + key, text, 'EX', lifetimeSeconds);
      },
      () => {
        this.local.set(key, text);
      },
    );
  }

  /** Keeps the key alone. False if it is kept already. */
  async claim(key: string): Promise<boolean> {
    const { prefix, lifetimeSeconds } = this.options;
    if (this.local.has(key)) return false;
    return this.redis.run(
      async (redis) => (await redis.set(prefix + key, '1', 'EX', lifetimeSeconds, 'NX')) === 'OK',
      () => {
        this.local.set(key, '1');
        return true;
      },
    );
  }

  /** Returns the text and deletes it. */
  async take(key: string): Promise<string | undefined> {
    const kept = this.local.get(key);
    this.local.delete(key);
    const shared = await this.redis.run(
      async (redis) => (await redis.getdel(this.options.prefix + key)) ?? undefined,
      () => undefined,
    );
    return kept ?? shared;
  }
}
