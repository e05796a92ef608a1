import { Inject, Injectable } from '@nestjs/common';
import { Resvg } from '@resvg/resvg-js';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import svgCaptcha from 'svg-captcha';
import { CONFIG } from '../../config/index.js';
import type { Config } from '../../config/index.js';
import { RateLimiter, REDIS } from '../../event/index.js';
import { LoginRefusedError } from '../identity.errors.js';
import type { CaptchaView } from './login.view.js';

const LIFETIME_SECONDS = 120;
const LIMIT = { name: 'captcha', points: 10, seconds: 60 };
const KEY_PREFIX = 'plinth:captcha:';

/** Pictures of a text that the reader types in. Each is good for two minutes and one try. */
@Injectable()
export class Captcha {
  /** Without Redis, where the process that drew a picture is the one that is asked about it. */
  private readonly local = new LRUCache<string, string>({
    max: 10_000,
    ttl: LIFETIME_SECONDS * 1_000,
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(REDIS) private readonly redis: Redis | undefined,
    private readonly limiter: RateLimiter,
  ) {}

  async draw(ip: string): Promise<CaptchaView> {
    await this.limiter.consume(LIMIT, ip);
    if (!this.config.CAPTCHA) return { captchaEnabled: false, uuid: null, img: null };
    const { text, data } = svgCaptcha.create({ size: 4, ignoreChars: '0o1ilI', noise: 2 });
    const uuid = randomUUID();
    await this.keep(uuid, text.toLowerCase());
    return { captchaEnabled: true, uuid, img: new Resvg(data).render().asPng().toString('base64') };
  }

  /** Passes when captchas are off; the answer is used up by the first look at it. */
  async verify(uuid: string | undefined, code: string | undefined): Promise<void> {
    if (!this.config.CAPTCHA) return;
    const expected = uuid ? await this.take(uuid) : undefined;
    if (expected === undefined) {
      throw new LoginRefusedError('The captcha has expired. Load a new one and try again.');
    }
    if (code?.trim().toLowerCase() !== expected) {
      throw new LoginRefusedError('The captcha is wrong. Load a new one and try again.');
    }
  }

  private async keep(uuid: string, text: string): Promise<void> {
    if (this.redis) await this.redis.set(KEY_PREFIX + uuid, text, 'EX', LIFETIME_SECONDS);
    else this.local.set(uuid, text);
  }

  private async take(uuid: string): Promise<string | undefined> {
    if (this.redis) return (await this.redis.getdel(KEY_PREFIX + uuid)) ?? undefined;
    const text = this.local.get(uuid);
    this.local.delete(uuid);
    return text;
  }
}
