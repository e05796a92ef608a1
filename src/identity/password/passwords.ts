import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { TooManyRequestsError } from '../../platform/error/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import type { RateLimit } from '../../platform/event/index.js';
import { LoginRefusedError } from '../identity.errors.js';
import { PasswordHasher } from './password.hasher.js';

export interface AccountName {
  readonly tenantId: string;
  readonly userName: string;
}

/**
 * Checks passwords and locks a name after too many wrong ones, whether a user has that name or not.
 * The tries at one name wait for each other, so that many at once do not slip past the lock.
 */
@Injectable()
export class Passwords {
  private readonly turns = new Map<string, Promise<unknown>>();
  private readonly failures: RateLimit;
  private readonly lock: RateLimit;

  constructor(
    private readonly hasher: PasswordHasher,
    private readonly limiter: RateLimiter,
    @Inject(CONFIG) config: Config,
  ) {
    const seconds = config.LOGIN_LOCK_SECONDS;
    // One less than the limit: the failure that goes over is the one that locks.
    this.failures = { name: 'login-failures', points: config.LOGIN_FAILURE_LIMIT - 1, seconds };
    this.lock = { name: 'login-lock', points: 1, seconds };
  }

  async hash(password: string): Promise<string> {
    return this.hasher.hash(password);
  }

  /** Whether the password is right; without a hash it never is, after the same time. LoginRefusedError while locked. */
  async passes(
    account: AccountName,
    passwordHash: string | undefined,
    password: string,
  ): Promise<boolean> {
    const key = keyOf(account);
    return this.inTurn(key, async () => {
      await this.refuseLocked(key);
      const right = await this.hasher.verify(passwordHash, password);
      if (right) await this.limiter.reset(this.failures, key);
      else await this.countFailure(key);
      return right;
    });
  }

  /** Forgets the failures of the name, and its lock. */
  async unlock(account: AccountName): Promise<void> {
    await this.limiter.reset(this.failures, keyOf(account));
    await this.limiter.reset(this.lock, keyOf(account));
  }

  private async refuseLocked(key: string): Promise<void> {
    try {
      await this.limiter.check(this.lock, key);
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      throw new LoginRefusedError(
        `Too many wrong passwords for this user. Wait ${this.lock.seconds} seconds, then try again.`,
      );
    }
  }

  private async countFailure(key: string): Promise<void> {
    try {
      await this.limiter.consume(this.failures, key);
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      await this.limiter.consume(this.lock, key);
      await this.limiter.reset(this.failures, key);
    }
  }

  private async inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.turns.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.turns.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.turns.get(key) === mine) this.turns.delete(key);
    }
  }
}

function keyOf({ tenantId, userName }: AccountName): string {
  return `${tenantId}:${userName.toLowerCase()}`;
}
