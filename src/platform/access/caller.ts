import { ForbiddenError } from '../error/index.js';
import { ALL_PERMISSIONS } from './permission.catalogue.js';

/** What the client of the caller needs in the text of chat messages, because it reads nothing else of them. */
export interface InlineContent {
  /** Thinking text between <think> and </think>, in lists of messages. */
  readonly thinking: boolean;
  /** A paragraph at the end of an answer that names its sources. */
  readonly sources: boolean;
  /** Why an answer failed, or that it was cut. */
  readonly failures: boolean;
}

/** For work without a client, and for clients that read every field. */
export const NOTHING_INLINE: InlineContent = { thinking: false, sources: false, failures: false };

/** The user on whose behalf work is done: the first argument of every service method, and part of every job. */
export interface Caller {
  /** The tenant whose records are read and changed; super administrators can switch to another than their own. */
  readonly tenantId: string;
  /** The tenant that the user belongs to. */
  readonly homeTenantId: string;
  readonly userId: number;
  readonly userName: string;
  readonly clientId: string;
  readonly inline: InlineContent;
  /** The sign-in that the token belongs to. */
  readonly loginSessionId: string;
  readonly permissions: ReadonlySet<string>;
  readonly roleKeys: readonly string[];
  /** The revision of the tenant when the request began. What is cached for this revision is valid. */
  readonly revision: number;
}

export function isSuperAdmin(caller: Caller): boolean {
  return caller.permissions.has(ALL_PERMISSIONS);
}

/** Whether the caller has one of the permissions or is a super administrator. */
export function mayAny(caller: Caller, permissions: readonly string[]): boolean {
  return (
    isSuperAdmin(caller) || permissions.some((permission) => caller.permissions.has(permission))
  );
}

export function requireSuperAdmin(caller: Caller): void {
  if (!isSuperAdmin(caller)) throw new ForbiddenError();
}

/** The caller in their own tenant, whichever one they have switched to. */
export function inHomeTenant(caller: Caller): Caller {
  return { ...caller, tenantId: caller.homeTenantId };
}

/** The service itself, for work without a user, such as seeding. No user has its user id, 0. */
export function systemCaller(tenantId: string, revision: number): Caller {
  return {
    tenantId,
    homeTenantId: tenantId,
    userId: 0,
    userName: 'system',
    clientId: 'system',
    inline: NOTHING_INLINE,
    loginSessionId: 'system',
    permissions: new Set([ALL_PERMISSIONS]),
    roleKeys: [],
    revision,
  };
}
