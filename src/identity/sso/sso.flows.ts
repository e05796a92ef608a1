import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Database } from '../../platform/database/index.js';
import { OneTimeStore, SharedRedis } from '../../platform/redis/index.js';

/** A sign-in between its start and the answer of the provider. */
const startedFlow = z.object({
  tenantId: z.string(),
  publicId: z.string(),
  clientId: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  browser: z.string(),
  /** The signed-in user who is to be connected, and the sign-in that must still be open then; undefined for a sign-in. */
  connects: z.object({ userId: z.number(), loginSessionId: z.string() }).optional(),
});
export type StartedFlow = z.output<typeof startedFlow>;
export type Connecting = NonNullable<StartedFlow['connects']>;

/** A sign-in that the provider has answered, until the console fetches its token. */
const answeredFlow = z.object({
  tenantId: z.string(),
  providerId: z.number(),
  identityId: z.number(),
  userId: z.number(),
  clientId: z.string(),
  browser: z.string(),
  sid: z.string().nullable(),
  /** The encrypted id token. */
  idToken: z.string(),
});
export type AnsweredFlow = z.output<typeof answeredFlow>;

export const FLOW_SECONDS = 600;
const CODE_SECONDS = 60;
/** How long used logout tokens are remembered. Providers issue them for two minutes; Plinth accepts ten at most. */
const TOKEN_SECONDS = 900;

/** The state of sign-ins under way. Each part can be used once, by the browser that began the sign-in. */
@Injectable()
export class SsoFlows {
  private readonly states: OneTimeStore;
  private readonly codes: OneTimeStore;
  private readonly logoutTokens: OneTimeStore;

  constructor(redis: SharedRedis, database: Database) {
    this.states = new OneTimeStore(redis, database, {
      prefix: 'sso:state:',
      lifetimeSeconds: FLOW_SECONDS,
    });
    this.codes = new OneTimeStore(redis, database, {
      prefix: 'sso:code:',
      lifetimeSeconds: CODE_SECONDS,
    });
    this.logoutTokens = new OneTimeStore(redis, database, {
      prefix: 'sso:jti:',
      lifetimeSeconds: TOKEN_SECONDS,
    });
  }

  async begin(state: string, flow: StartedFlow): Promise<void> {
    await this.states.keep(digest(state), JSON.stringify(flow));
  }

  async takeStarted(state: string): Promise<StartedFlow | undefined> {
    return read(startedFlow, await this.states.take(digest(state)));
  }

  /** Stores the answered sign-in and returns its code. */
  async answer(flow: AnsweredFlow): Promise<string> {
    const code = randomText();
    await this.codes.keep(digest(code), JSON.stringify(flow));
    return code;
  }

  async takeAnswered(code: string): Promise<AnsweredFlow | undefined> {
    return read(answeredFlow, await this.codes.take(digest(code)));
  }

  /** Marks a logout token as used; false if it was used before. */
  async useToken(providerId: number, jti: string): Promise<boolean> {
    return this.logoutTokens.claim(digest(`${providerId} ${jti}`));
  }
}

export function randomText(): string {
  return randomBytes(32).toString('base64url');
}

/** The digest under which a key is stored, so that a reader of Redis cannot use it. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function read<T>(form: z.ZodType<T>, text: string | undefined): T | undefined {
  return text === undefined ? undefined : form.safeParse(JSON.parse(text)).data;
}
