import { Inject, Injectable } from '@nestjs/common';
import { Resvg } from '@resvg/resvg-js';
import { randomUUID } from 'node:crypto';
import svgCaptcha from 'svg-captcha';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import { clientNetwork } from '../../platform/http/index.js';
import { OneTimeStore, SharedRedis } from '../../platform/redis/index.js';
import { msg } from '../../platform/message/index.js';
import { LoginRefusedError } from '../password/passwords.js';
import type { CaptchaView } from './login.dto.js';

/** The answers to captchas, for two minutes. */
@Injectable()
export class CaptchaStore extends OneTimeStore {
  constructor(redis: SharedRedis, database: Database) {
    super(redis, database, { prefix: 'captcha:', lifetimeSeconds: 120 });
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

  /** Checks an answer, which is possible once. Passes if captchas are disabled. */
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
