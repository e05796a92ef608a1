import { Inject, Injectable } from '@nestjs/common';
import { Resvg } from '@resvg/resvg-js';
import { randomUUID } from 'node:crypto';
import svgCaptcha from 'svg-captcha';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import { LoginRefusedError } from '../identity.errors.js';
import { CaptchaStore } from './captcha.store.js';
import type { CaptchaView } from './login.view.js';

const LIMIT = { name: 'captcha', points: 10, seconds: 60 };

/** Pictures of a text that the reader types in. Each is good for two minutes and one try. */
@Injectable()
export class Captcha {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly answers: CaptchaStore,
    private readonly limiter: RateLimiter,
  ) {}

  async draw(ip: string): Promise<CaptchaView> {
    await this.limiter.consume(LIMIT, ip);
    if (!this.config.CAPTCHA) return { captchaEnabled: false, uuid: null, img: null };
    const { text, data } = svgCaptcha.create({ size: 4, ignoreChars: '0o1ilI', noise: 2 });
    const uuid = randomUUID();
    await this.answers.keep(uuid, text.toLowerCase());
    return { captchaEnabled: true, uuid, img: new Resvg(data).render().asPng().toString('base64') };
  }

  /** Passes when captchas are off; the answer is used up by the first look at it. */
  async verify(uuid: string | undefined, code: string | undefined): Promise<void> {
    if (!this.config.CAPTCHA) return;
    const expected = uuid ? await this.answers.take(uuid) : undefined;
    if (expected === undefined) {
      throw new LoginRefusedError('The captcha has expired. Load a new one and try again.');
    }
    if (code?.trim().toLowerCase() !== expected) {
      throw new LoginRefusedError('The captcha is wrong. Load a new one and try again.');
    }
  }
}
