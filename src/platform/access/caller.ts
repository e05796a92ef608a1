import { ForbiddenError } from '../error/index.js';
import { ALL_PERMISSIONS } from './permission.catalogue.js';

/** Who asks: the first argument of every service method and part of every job. */
export interface Caller {
  /** The tenant whose records are asked for; a super administrator may have switched to another than the own one. */
  readonly tenantId: string;
  readonly homeTenantId: string;
  readonly userId: number;
  readonly userName: string;
  readonly clientId: string;
  /** The sign-in that the token belongs to. */
  readonly loginSessionId: string;
  readonly permissions: ReadonlySet<string>;
  readonly roleKeys: readonly string[];
  /** The tenant's revision when the request began: what is cached under it is still true. */
  readonly revision: number;
}

export function isSuperAdmin(caller: Caller): boolean {
  return caller.permissions.has(ALL_PERMISSIONS);
}

/** True when the caller has one of the permissions, or all of them by being super administrator. */
export function mayAny(caller: Caller, permissions: readonly string[]): boolean {
  return (
    isSuperAdmin(caller) || permissions.some((permission) => caller.permissions.has(permission))
  );
}

export function requireSuperAdmin(caller: Caller): void {
  if (!isSuperAdmin(caller)) throw new ForbiddenError();
}

/** The service itself, for work that nobody asked for, such as seeding. Its user id is 0, which no user has. */
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
