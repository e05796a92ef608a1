import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { REDIS } from '../../platform/event/index.js';

const LIFETIME_SECONDS = 120;
const KEY_PREFIX = 'captcha:';

/** The answers to captchas, for two minutes: in Redis where configured, so that any process can be asked. */
@Injectable()
export class CaptchaStore {
  private readonly local = new LRUCache<string, string>({
    max: 10_000,
    ttl: LIFETIME_SECONDS * 1_000,
  });

  constructor(@Inject(REDIS) private readonly redis: Redis | undefined) {}

  async keep(uuid: string, answer: string): Promise<void> {
    if (this.redis) await this.redis.set(KEY_PREFIX + uuid, answer, 'EX', LIFETIME_SECONDS);
    else this.local.set(uuid, answer);
  }

  /** The answer, which is forgotten with that. */
  async take(uuid: string): Promise<string | undefined> {
    if (this.redis) return (await this.redis.getdel(KEY_PREFIX + uuid)) ?? undefined;
    const answer = this.local.get(uuid);
    this.local.delete(uuid);
    return answer;
  }
}
