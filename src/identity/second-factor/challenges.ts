import { Injectable } from '@nestjs/common';
import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Database } from '../../platform/database/index.js';
import { OneTimeStore, SharedRedis } from '../../platform/redis/index.js';
import { accountOf } from '../password/passwords.js';
import type { User } from '../user/user.entity.js';

/** Time for the second step of a sign-in, and for an enrolment. */
export const CHALLENGE_SECONDS = 600;

const challenge = z.object({
  /** What it lets its bearer do: prove a factor, enrol one at the sign-in, or enrol one while signed in. */
  purpose: z.enum(['proof', 'first-enrolment', 'enrolment']),
  tenantId: z.string(),
  userId: z.number(),
  /** The account with its password: a new password ends the challenge. */
  account: z.string(),
  /** The client that signs the user in; of an enrolment while signed in, the sign-in. */
  boundTo: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
  /** The WebAuthn challenge that the browser must have signed. */
  webauthn: z.string().optional(),
  /** The encrypted TOTP secret of an enrolment. */
  secret: z.string().optional(),
});
export type Challenge = z.output<typeof challenge>;

/** A new challenge for the user, without what the step adds to it. */
export function challengeFor(
  user: User,
  purpose: Challenge['purpose'],
  boundTo: string,
): Challenge {
  return {
    purpose,
    tenantId: user.tenantId,
    userId: user.id,
    account: accountOf(user.tenantId, user, user.userName),
    boundTo,
    expiresAt: Date.now() + CHALLENGE_SECONDS * 1_000,
  };
}

/** The second steps under way. Each token is good for one attempt. */
@Injectable()
export class Challenges {
  private readonly store: OneTimeStore;

  constructor(redis: SharedRedis, database: Database) {
    this.store = new OneTimeStore(redis, database, {
      prefix: 'second-factor:',
      lifetimeSeconds: CHALLENGE_SECONDS,
    });
  }

  /** Stores the challenge and returns its token. */
  async keep(value: Challenge): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    await this.store.keep(digestOf(token), JSON.stringify(value));
    return token;
  }

  /** The challenge, which cannot be used again; undefined when it has been used, has expired or has another purpose. */
  async take(
    token: string,
    ...purposes: readonly Challenge['purpose'][]
  ): Promise<Challenge | undefined> {
    const stored = await this.store.take(digestOf(token));
    const value = stored === undefined ? undefined : challenge.parse(JSON.parse(stored));
    if (!value || value.expiresAt < Date.now()) return undefined;
    return purposes.includes(value.purpose) ? value : undefined;
  }
}

/** Seconds until the challenge expires. */
export function secondsLeft({ expiresAt }: Challenge): number {
  return Math.max(0, Math.ceil((expiresAt - Date.now()) / 1_000));
}

function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}
