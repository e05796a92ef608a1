import { ForbiddenError } from '../error/index.js';
import { ALL_PERMISSIONS } from './permission.catalogue.js';

/** The user on whose behalf work is done: the first argument of every service method, and part of every job. */
export interface Caller {
  /** The tenant whose records are read and changed; super administrators can switch to another than their own. */
  readonly tenantId: string;
  /** The tenant that the user belongs to. */
  readonly homeTenantId: string;
  readonly userId: number;
  readonly userName: string;
  readonly clientId: string;
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
    loginSessionId: 'system',
    permissions: new Set([ALL_PERMISSIONS]),
    roleKeys: [],
    revision,
  };
}
