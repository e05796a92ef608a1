import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { randomPassword } from './password/password.hasher.js';

export interface InitialLogin {
  readonly userName: string;
  readonly password: string;
}

/** The password of the first user. One that was made up is kept for whoever starts the service to show once. */
@Injectable()
export class InitialPassword {
  private made: InitialLogin | undefined;

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** ADMIN_PASSWORD, or a random one. */
  choose(userName: string): string {
    if (this.config.ADMIN_PASSWORD !== undefined) return this.config.ADMIN_PASSWORD;
    this.made = { userName, password: randomPassword() };
    return this.made.password;
  }

  /** Undefined unless this start made the first user and made up its password. Forgets it. */
  take(): InitialLogin | undefined {
    const login = this.made;
    this.made = undefined;
    return login;
  }
}
