import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { randomBytes } from 'node:crypto';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { DomainError, TooManyRequestsError } from '../../platform/error/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import type { RateLimit } from '../../platform/event/index.js';

/** A refused sign-in or registration. Its code is 500, because existing clients take 401 for an ended sign-in. */
export class LoginRefusedError extends DomainError {
  readonly code = 500;
}

/** Also thrown for users that do not exist or are disabled. */
export class WrongPasswordError extends LoginRefusedError {
  constructor() {
    super('The user name or the password is wrong.');
  }
}

/** Argon2id with the minimum of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export interface AccountName {
  readonly tenantId: string;
  readonly userName: string;
}

/**
 * Hashes and verifies passwords. Locks a name after too many wrong ones, whether a user has that name or not.
 * Attempts at one name run one after the other, so that many at once cannot get past the lock.
 */
@Injectable()
export class Passwords implements OnModuleInit {
  private readonly attempts = new Map<string, Promise<unknown>>();
  /** Verified in place of the hash of an unknown user. */
  private placeholder: string;
  private readonly failures: RateLimit;
  private readonly lock: RateLimit;

  constructor(
    private readonly limiter: RateLimiter,
    @Inject(CONFIG) config: Config,
  ) {
    const seconds = config.LOGIN_LOCK_SECONDS;
    // One less than the limit: the failure that exceeds it locks.
    this.failures = { name: 'login-failures', points: config.LOGIN_FAILURE_LIMIT - 1, seconds };
    this.lock = { name: 'login-lock', points: 1, seconds };
  }

  async onModuleInit(): Promise<void> {
    this.placeholder = await this.hash(randomBytes(16).toString('hex'));
  }

  async hash(password: string): Promise<string> {
    return hash(password, COST);
  }

  /** Without a hash it takes the same time and returns false. LoginRefusedError while the name is locked. */
  async verify(
    account: AccountName,
    passwordHash: string | undefined,
    password: string,
  ): Promise<boolean> {
    const key = keyOf(account);
    return this.inSequence(key, async () => {
      await this.refuseLocked(key);
      const matches = await verify(passwordHash ?? this.placeholder, password);
      const right = matches && passwordHash !== undefined;
      if (right) await this.limiter.reset(this.failures, key);
      else await this.countFailure(key);
      return right;
    });
  }

  /** Resets the failures and the lock of the name. */
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

  private async inSequence<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.attempts.get(key) ?? Promise.resolve();
    const current = previous.then(work, work);
    this.attempts.set(key, current);
    try {
      return await current;
    } finally {
      if (this.attempts.get(key) === current) this.attempts.delete(key);
    }
  }
}

function keyOf({ tenantId, userName }: AccountName): string {
  return `${tenantId}:${userName.toLowerCase()}`;
}
