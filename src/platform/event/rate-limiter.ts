import { Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { msg } from '../message/index.js';
import { TooManyRequestsError } from '../error/index.js';
import { SharedRedis } from '../redis/index.js';

export interface RateLimit {
  /** Names the limit; keys of different limits never meet. */
  readonly name: string;
  readonly points: number;
  readonly seconds: number;
}

/** The points of one key that were counted while Redis was away. */
interface Unshared {
  readonly limit: RateLimit;
  readonly key: string;
  readonly points: number;
  /** The points were given back before these were taken. */
  readonly isReset: boolean;
}

/** Keys whose counts are carried over to Redis; beyond it the oldest are not. */
const MAX_UNSHARED_KEY_COUNT = 10_000;

/**
 * Counts per key in a fixed window: in Redis where configured, so that all processes share the count, else in process.
 * Each process also keeps the counts that it has seen. While Redis is away it goes on from them, and when Redis is back it
 * adds what it has counted meanwhile.
 */
@Injectable()
export class RateLimiter implements OnApplicationShutdown {
  private readonly local = new Map<string, RateLimiterMemory>();
  private readonly shared = new Map<string, RateLimiterRedis>();
  private readonly unshared = new LRUCache<string, Unshared>({ max: MAX_UNSHARED_KEY_COUNT });
  private sharing: Promise<void> | undefined;
  private readonly unsubscribe: () => void;

  constructor(private readonly redis: SharedRedis) {
    this.unsubscribe = redis.onRecovered(() => {
      this.sharing ??= this.share().finally(() => (this.sharing = undefined));
    });
  }

  onApplicationShutdown(): void {
    this.unsubscribe();
  }

  /** Takes one point; TooManyRequestsError says how long to wait. */
  async consume(limit: RateLimit, key: string): Promise<void> {
    await this.sharing;
    const localLimiter = this.localOf(limit);
    const state = await this.redis.run(
      async (redis) =>
        rememberCount(
          localLimiter,
          key,
          await stateAfter(this.sharedOf(limit, redis).consume(key)),
        ),
      () => {
        this.note(limit, key, 'point');
        return stateAfter(localLimiter.consume(key));
      },
    );
    if (state.consumedPoints > limit.points) throw refusal(state);
  }

  /** Throws TooManyRequestsError when no point is left, without taking one. */
  async check(limit: RateLimit, key: string): Promise<void> {
    await this.sharing;
    const localLimiter = this.localOf(limit);
    const state = await this.redis.run(
      async (redis) => {
        const consumed = await this.sharedOf(limit, redis).get(key);
        if (consumed) return rememberCount(localLimiter, key, consumed);
        await localLimiter.delete(key);
        return null;
      },
      () => localLimiter.get(key),
    );
    if (state && state.consumedPoints > limit.points - 1) throw refusal(state);
  }

  /** Gives all points of the key back. */
  async reset(limit: RateLimit, key: string): Promise<void> {
    await this.sharing;
    await this.localOf(limit).delete(key);
    await this.redis.run(
      async (redis) => {
        await this.sharedOf(limit, redis).delete(key);
      },
      () => this.note(limit, key, 'reset'),
    );
  }

  /** Remembers a change for Redis; without Redis there is no other process to share with. */
  private note(limit: RateLimit, key: string, change: 'point' | 'reset'): void {
    if (!this.redis.isConfigured) return;
    const name = `${limit.name} ${key}`;
    const before = this.unshared.get(name);
    const points = change === 'reset' ? 0 : (before?.points ?? 0) + 1;
    const isReset = change === 'reset' || (before?.isReset ?? false);
    this.unshared.set(name, { limit, key, points, isReset });
  }

  /** Carries over what was counted while Redis was away. Stops when Redis is away again; the rest follows later. */
  private async share(): Promise<void> {
    for (const [name, entry] of [...this.unshared.entries()]) {
      const isShared = await this.redis.run(
        (redis) => this.shareOne(redis, entry),
        () => false,
      );
      if (!isShared) return;
      this.unshared.delete(name);
    }
  }

  private async shareOne(redis: Redis, entry: Unshared): Promise<true> {
    const { limit, key, points, isReset } = entry;
    const shared = this.sharedOf(limit, redis);
    if (isReset) await shared.delete(key);
    // The window of these points may have ended meanwhile.
    const isOpen = (await this.localOf(limit).get(key)) !== null;
    if (!isOpen || points === 0) return true;
    await shared.penalty(key, points);
    return true;
  }

  private localOf(limit: RateLimit): RateLimiterMemory {
    const limiter = this.local.get(limit.name) ?? new RateLimiterMemory(settingsOf(limit));
    this.local.set(limit.name, limiter);
    return limiter;
  }

  private sharedOf(limit: RateLimit, storeClient: Redis): RateLimiterRedis {
    const limiter =
      this.shared.get(limit.name) ?? new RateLimiterRedis({ ...settingsOf(limit), storeClient });
    this.shared.set(limit.name, limiter);
    return limiter;
  }
}

function settingsOf(limit: RateLimit): { keyPrefix: string; points: number; duration: number } {
  return {
    keyPrefix: `limit:${limit.name}`,
    points: limit.points,
    duration: limit.seconds,
  };
}

/** The count after taking a point, which the limiters throw when it is over the limit. */
async function stateAfter(taking: Promise<RateLimiterRes>): Promise<RateLimiterRes> {
  try {
    return await taking;
  } catch (rejection) {
    if (rejection instanceof RateLimiterRes) return rejection;
    throw rejection;
  }
}

/** Remembers the shared count in the local limiter. */
async function rememberCount(
  localLimiter: RateLimiterMemory,
  key: string,
  state: RateLimiterRes,
): Promise<RateLimiterRes> {
  const { consumedPoints, msBeforeNext } = state;
  if (msBeforeNext > 0) await localLimiter.set(key, consumedPoints, msBeforeNext / 1_000);
  return state;
}

function refusal({ msBeforeNext }: RateLimiterRes): TooManyRequestsError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  return new TooManyRequestsError(msg`Too many requests. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}
