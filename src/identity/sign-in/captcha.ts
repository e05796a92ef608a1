import { Inject, Injectable } from '@nestjs/common';
import { Resvg } from '@resvg/resvg-js';
import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import svgCaptcha from 'svg-captcha';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import { clientNetwork } from '../../platform/http/index.js';
import { SharedRedis } from '../../platform/redis/index.js';
import { msg } from '../../platform/message/index.js';
import { LoginRefusedError } from '../password/passwords.js';
import type { CaptchaView } from './login.dto.js';

const LIFETIME_SECONDS = 120;
const KEY_PREFIX = 'captcha:';

/**
 * The answers to captchas, for two minutes: in Redis if configured, so that any process can check them. Without it, and
 * while it is away, the process that drew a captcha checks it.
 */
@Injectable()
export class CaptchaStore {
  private readonly local = new LRUCache<string, string>({
    max: 10_000,
    ttl: LIFETIME_SECONDS * 1_000,
  });

  constructor(private readonly redis: SharedRedis) {}

  async keep(uuid: string, answer: string): Promise<void> {
    await this.redis.run(
      async (redis) => {
        await redis.set(KEY_PREFIX + uuid, answer, 'EX', LIFETIME_SECONDS);
      },
      () => {
        this.local.set(uuid, answer);
      },
    );
  }

  /** Returns the answer and deletes it. */
  async take(uuid: string): Promise<string | undefined> {
    const answer = this.local.get(uuid);
    this.local.delete(uuid);
    const shared = await this.redis.run(
      async (redis) => (await redis.getdel(KEY_PREFIX + uuid)) ?? undefined,
      () => undefined,
    );
    return answer ?? shared;
  }
}

const LIMIT = { name: 'captcha', points: 10, seconds: 60 };

/** Images of a text to type in. Each is valid for two minutes and one attempt. */
@Injectable()
export class Captcha {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly answers: CaptchaStore,
    private readonly limiter: RateLimiter,
  ) {}

  async draw(ip: string): Promise<CaptchaView> {
    await this.limiter.consume(LIMIT, clientNetwork(ip));
    if (!this.config.CAPTCHA) return { captchaEnabled: false, uuid: null, img: null };
    const { text, data } = svgCaptcha.create({ size: 4, ignoreChars: '0o1ilI', noise: 2 });
    const uuid = randomUUID();
    await this.answers.keep(uuid, text.toLowerCase());
    return { captchaEnabled: true, uuid, img: new Resvg(data).render().asPng().toString('base64') };
  }

  /** Passes if captchas are disabled. An answer can be checked once. */
  async verify(uuid: string | undefined, code: string | undefined): Promise<void> {
    if (!this.config.CAPTCHA) return;
    const expected = uuid ? await this.answers.take(uuid) : undefined;
    if (expected === undefined) {
      throw new LoginRefusedError(msg`The captcha has expired. Load a new one and try again.`);
    }
    if (code?.trim().toLowerCase() !== expected) {
      throw new LoginRefusedError(msg`The captcha is wrong. Load a new one and try again.`);
    }
  }
}
