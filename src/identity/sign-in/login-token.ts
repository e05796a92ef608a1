import { Inject, Injectable } from '@nestjs/common';
import { jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';

/** What a token says. It is proof of nothing alone: the sign-in it names must still be there. */
const claimsSchema = z.object({
  sid: z.uuid(),
  tenantId: z.string(),
  userId: z.number(),
  userName: z.string(),
  clientid: z.string(),
  exp: z.number(),
});

export type TokenClaims = z.output<typeof claimsSchema>;

/** Checking a signature costs more than looking it up: so many tokens are remembered as genuine. */
const REMEMBERED = 10_000;

/** Makes and checks login tokens: JWT, HS256. */
@Injectable()
export class LoginTokens {
  private readonly genuine = new LRUCache<string, TokenClaims>({ max: REMEMBERED });

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  async sign(claims: TokenClaims): Promise<string> {
    return new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuedAt()
      .sign(this.config.tokenKey);
  }

  /** What the token says, or undefined when it is forged, expired or not a token at all. */
  async read(token: string): Promise<TokenClaims | undefined> {
    const claims = this.genuine.get(token) ?? (await this.verify(token));
    return claims && claims.exp * 1_000 > Date.now() ? claims : undefined;
  }

  private async verify(token: string): Promise<TokenClaims | undefined> {
    try {
      const { payload } = await jwtVerify(token, this.config.tokenKey, { algorithms: ['HS256'] });
      const claims = claimsSchema.parse(payload);
      this.genuine.set(token, claims);
      return claims;
    } catch {
      // Why a token is not genuine is nobody's business.
      return undefined;
    }
  }
}
