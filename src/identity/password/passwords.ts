import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { createHash, randomBytes } from 'node:crypto';
import { DomainError, TooManyRequestsError } from '../../platform/error/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import type { RateLimit } from '../../platform/event/index.js';
import { clientNetwork } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { HashQueue } from './hash-queue.js';

/** A refused sign-in or registration. Its code is 500, because existing clients take 401 for an ended sign-in. */
export class LoginRefusedError extends DomainError {
  readonly code = 500;
}

/** The user name or password is wrong; also thrown for users that do not exist or are disabled. */
export class WrongPasswordError extends LoginRefusedError {
  constructor() {
    super(msg`The user name or the password is wrong.`);
  }
}

/** Wrong passwords from one address before the account is locked for that address. */
const MAX_FAILURES_OF_ADDRESS = 5;

/** Argon2id with the minimum of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** 144 random bits in 24 characters. */
export function randomPassword(): string {
  return randomBytes(18).toString('base64url');
}

/** An attempt to sign in or to confirm an action with a password. */
export interface PasswordAttempt {
  /** The account, as `accountOf` writes it. */
  readonly account: string;
  /** The stored hash; undefined or empty if the user is unknown or disabled or has no password. */
  readonly passwordHash: string | undefined;
  /** The address of the client. */
  readonly ip: string | undefined;
  /** The address of the last sign-in of the user: a lock of the account for all addresses leaves it out. */
  readonly lastIp: string | null | undefined;
  /** A second factor follows: until it is proven, a right password does not reset the count of failures. */
  readonly isFirstOfTwo?: boolean;
}

/** An attempt by a user who exists. */
export function attemptAt(user: AttemptingUser, ip: string | undefined): PasswordAttempt {
  return {
    account: accountOf(user.tenantId, user, user.userName),
    passwordHash: user.passwordHash,
    ip,
    lastIp: user.loginIp,
  };
}

interface AttemptingUser {
  readonly tenantId: string;
  readonly id: number;
  readonly userName: string;
  readonly passwordHash: string;
  readonly loginIp: string | null;
}

/**
 * `accountFailures` from all addresses lock an account for every address but that of its last sign-in. A process hashes
 * `running` passwords at a time; further ones than `waiting` are refused with 429.
 */
export const PASSWORD_LIMITS = { accountFailures: 30, running: 2, waiting: 50 };

/**
 * Hashes and verifies passwords. After too many wrong ones an account is locked for the address that they came from, and
 * after many more for all addresses but that of its last sign-in, so that guessing does not lock its owner out. A name that
 * no user has is treated alike. Attempts of one address at one account run one after the other, so that many at once
 * cannot get past the lock.
 */
@Injectable()
export class Passwords implements OnModuleInit {
  private readonly attempts = new Map<string, Promise<unknown>>();
  /** The hash that is verified for an unknown user, so that the answer takes the same time. */
  private placeholder: string;
  readonly queue: HashQueue;
  /** Seconds for which a lock lasts and a wrong password counts. */
  readonly lockSeconds = 600;
  private readonly failures: RateLimit;
  private readonly lock: RateLimit;
  private readonly accountFailures: RateLimit;

  constructor(private readonly limiter: RateLimiter) {
    const seconds = this.lockSeconds;
    // The limiter gets one point less, because the failure that exceeds it locks the account.
    this.failures = { name: 'login-failures', points: MAX_FAILURES_OF_ADDRESS - 1, seconds };
    this.lock = { name: 'login-lock', points: 1, seconds };
    const points = PASSWORD_LIMITS.accountFailures;
    this.accountFailures = { name: 'login-account-failures', points, seconds };
    this.queue = new HashQueue(PASSWORD_LIMITS);
  }

  async onModuleInit(): Promise<void> {
    this.placeholder = await this.hash(randomBytes(16).toString('hex'));
  }

  /** Hashes the password. Throws TooManyRequestsError when too many others are hashed or wait. */
  async hash(password: string): Promise<string> {
    return this.queue.run(undefined, () => hash(password, COST));
  }

  /**
   * Whether the password is right. An attempt without a hash takes the same time and returns false. Throws LoginRefusedError
   * while the account is locked for the address, TooManyRequestsError when too many others are verified or wait.
   */
  async verify(attempt: PasswordAttempt, password: string): Promise<boolean> {
    const { passwordHash } = attempt;
    return this.count(attempt, async (network) => {
      const matches = await this.queue.run(network, () =>
        verify(passwordHash || this.placeholder, password),
      );
      return matches && !!passwordHash;
    });
  }

  /** Runs a check of a password or code that counts as an attempt at the account. Throws LoginRefusedError while it is locked. */
  async count(
    attempt: PasswordAttempt,
    check: (network: string) => Promise<boolean>,
  ): Promise<boolean> {
    const { account } = attempt;
    const network = clientNetwork(attempt.ip);
    const isOwn = !!attempt.lastIp && clientNetwork(attempt.lastIp) === network;
    const key = `${account}:${network}`;
    return this.inSequence(key, async () => {
      await this.refuseLocked(this.lock, key);
      if (!isOwn) await this.refuseLocked(this.accountFailures, account);
      const right = await check(network);
      if (!right) await this.countFailure(key, isOwn ? undefined : account);
      else if (!attempt.isFirstOfTwo) await this.limiter.reset(this.failures, key);
      return right;
    });
  }

  /** Ends the locks of the account for these addresses and that for all addresses, and forgets its wrong passwords. */
  async unlock(account: string, ips: readonly string[]): Promise<void> {
    await this.limiter.reset(this.accountFailures, account);
    for (const network of new Set(ips.map(clientNetwork))) {
      await this.limiter.reset(this.lock, `${account}:${network}`);
      await this.limiter.reset(this.failures, `${account}:${network}`);
    }
  }

  private async refuseLocked(limit: RateLimit, key: string): Promise<void> {
    try {
      await this.limiter.check(limit, key);
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      throw new LoginRefusedError(
        msg`Too many wrong passwords or codes for this user. Wait ${limit.seconds} seconds, then try again.`,
      );
    }
  }

  /** `account` is undefined for failures that do not count towards the lock for all addresses. */
  private async countFailure(key: string, account: string | undefined): Promise<void> {
    if (account !== undefined) await this.isOver(this.accountFailures, account);
    if (!(await this.isOver(this.failures, key))) return;
    await this.limiter.consume(this.lock, key);
    await this.limiter.reset(this.failures, key);
  }

  private async isOver(limit: RateLimit, key: string): Promise<boolean> {
    try {
      await this.limiter.consume(limit, key);
      return false;
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      return true;
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

/**
 * The key by which failures are counted: the user and their present password, so that a new password ends every lock, or the name
 * as the database compares it where no user has it.
 */
export function accountOf(
  tenantId: string,
  user: { readonly id: number; readonly passwordHash: string } | null,
  foldedName: string,
): string {
  if (!user) return `${tenantId}:name:${foldedName}`;
  const password = createHash('sha256').update(user.passwordHash).digest('hex').slice(0, 16);
  return `${tenantId}:user:${user.id}:${password}`;
}
