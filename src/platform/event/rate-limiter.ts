import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { TooManyRequestsError } from '../error/index.js';
import { REDIS } from './redis/redis.provider.js';

export interface RateLimit {
  /** Names the limit; keys of different limits never meet. */
  readonly name: string;
  readonly points: number;
  readonly seconds: number;
  /** How long a key that went over stays refused; default: until the window ends. */
  readonly blockSeconds?: number;
}

/** Counts per key in a fixed window: in Redis where configured, so that all processes share the count, else in process. */
@Injectable()
export class RateLimiter {
  private readonly limiters = new Map<string, RateLimiterAbstract>();

  constructor(@Inject(REDIS) private readonly redis: Redis | undefined) {}

  /** Takes one point; TooManyRequestsError says how long to wait. */
  async consume(limit: RateLimit, key: string): Promise<void> {
    try {
      await this.limiterFor(limit).consume(key);
    } catch (rejection) {
      throw refusal(rejection);
    }
  }

  /** Throws TooManyRequestsError when no point is left, without taking one. */
  async check(limit: RateLimit, key: string): Promise<void> {
    const state = await this.limiterFor(limit).get(key);
    if (state && state.consumedPoints > limit.points - 1) throw refusal(state);
  }

  /** Gives all points of the key back. */
  async reset(limit: RateLimit, key: string): Promise<void> {
    await this.limiterFor(limit).delete(key);
  }

  private limiterFor(limit: RateLimit): RateLimiterAbstract {
    const existing = this.limiters.get(limit.name);
    if (existing) return existing;
    const settings = {
      keyPrefix: `limit:${limit.name}`,
      points: limit.points,
      duration: limit.seconds,
      ...(limit.blockSeconds && { blockDuration: limit.blockSeconds }),
    };
    const limiter = this.redis
      ? new RateLimiterRedis({
          ...settings,
          storeClient: this.redis,
          // While Redis is away each process counts for itself.
          insuranceLimiter: new RateLimiterMemory(settings),
        })
      : new RateLimiterMemory(settings);
    this.limiters.set(limit.name, limiter);
    return limiter;
  }
}

function refusal(rejection: unknown): Error {
  if (!(rejection instanceof RateLimiterRes)) {
    return rejection instanceof Error ? rejection : new Error('The rate limit could not be read.');
  }
  const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
  return new TooManyRequestsError(`Too many requests. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}
