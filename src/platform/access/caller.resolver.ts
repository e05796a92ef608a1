import type { Caller } from './caller.js';

/** How a token becomes a caller. Declared here, implemented by identity/. */
export abstract class CallerResolver {
  /**
   * The caller behind a token and the client id it is used with. Throws UnauthenticatedError for a token that is wrong,
   * expired, revoked, idle for too long, of a disabled user, client or tenant, or issued for another client.
   */
  abstract resolve(token: string, clientId: string): Promise<Caller>;

  /** The caller as of now, or undefined when the sign-in is no longer valid; does not count as activity. */
  abstract refresh(caller: Caller): Promise<Caller | undefined>;
}
