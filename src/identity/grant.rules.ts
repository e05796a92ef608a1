import { isSuperAdmin } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { ForbiddenError } from '../platform/error/index.js';

interface Granting {
  readonly permissions: readonly string[];
}

/** Nobody gives what he has not got: ForbiddenError names the first permission that the caller lacks. */
export function requireHeld(caller: Caller, granted: Granting): void {
  const lacking = lackingOf(caller, granted.permissions);
  if (lacking === undefined) return;
  throw new ForbiddenError(
    `You cannot give the permission ${lacking}, because you do not have it. Ask an administrator who does.`,
  );
}

/** Nobody takes over or takes down those who may do more than he himself. */
export function requireNotAbove(caller: Caller, roles: readonly Granting[]): void {
  const permissions = roles.flatMap((role) => role.permissions);
  if (lackingOf(caller, permissions) === undefined) return;
  throw new ForbiddenError(
    'This would touch permissions that you do not have yourself. Ask an administrator who has them.',
  );
}

function lackingOf(caller: Caller, permissions: readonly string[]): string | undefined {
  if (isSuperAdmin(caller)) return undefined;
  return permissions.find((permission) => !caller.permissions.has(permission));
}
