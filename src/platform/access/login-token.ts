import jwt from 'jsonwebtoken';
import { z } from 'zod';

export const TOKEN_ALGORITHM = 'HS256';

/** The claims of a login token. They prove nothing alone: the sign-in they name must still be open. */
export const tokenClaims = z.object({
  sid: z.uuid(),
  tenantId: z.string(),
  userId: z.number(),
  userName: z.string(),
  clientid: z.string(),
  exp: z.number(),
});

export type TokenClaims = z.output<typeof tokenClaims>;

export function signToken(claims: TokenClaims, key: Buffer): string {
  return jwt.sign(claims, key, { algorithm: TOKEN_ALGORITHM });
}
