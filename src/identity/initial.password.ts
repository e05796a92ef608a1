import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';

export interface InitialLogin {
  readonly userName: string;
  readonly password: string;
}

/** The password of the first user. A generated one is kept until the start of the service shows it once. */
@Injectable()
export class InitialPassword {
  private generated: InitialLogin | undefined;

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** ADMIN_PASSWORD, or a random one. */
  choose(userName: string): string {
    if (this.config.ADMIN_PASSWORD !== undefined) return this.config.ADMIN_PASSWORD;
    // 144 random bits in 24 characters.
    this.generated = { userName, password: randomBytes(18).toString('base64url') };
    return this.generated.password;
  }

  /** Returns the generated password once; undefined unless this start has created the first user with one. */
  take(): InitialLogin | undefined {
    const login = this.generated;
    this.generated = undefined;
    return login;
  }
}
