import type { Caller } from './caller.js';
import type { TokenClaims } from './login-token.js';

/** Finds the caller of a sign-in. Declared here, implemented by identity/. */
export abstract class CallerResolver {
  /**
   * The caller of the sign-in that a verified token names, or undefined when it has expired, was revoked, was idle for
   * too long, or its user, client or tenant is disabled. Counts as activity.
   */
  abstract resolve(claims: TokenClaims): Promise<Caller | undefined>;

  /** The caller as of now, or undefined when the sign-in is no longer valid. Does not count as activity. */
  abstract refresh(caller: Caller): Promise<Caller | undefined>;
}
