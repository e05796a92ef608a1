import { isSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError } from '../../platform/error/index.js';

interface Granting {
  readonly permissions: readonly string[];
}

/** A caller can assign only permissions they have: ForbiddenError names the first one that they lack. */
export function requireHeld(caller: Caller, granted: Granting): void {
  const lacking = lackingOf(caller, granted.permissions);
  if (lacking === undefined) return;
  throw new ForbiddenError(
    `You cannot assign the permission ${lacking}, because you do not have it. Ask an administrator who does.`,
  );
}

/** A caller can change only roles and users whose permissions they have: otherwise ForbiddenError. */
export function requireNotAbove(caller: Caller, roles: readonly Granting[]): void {
  const permissions = roles.flatMap((role) => role.permissions);
  if (lackingOf(caller, permissions) === undefined) return;
  throw new ForbiddenError(
    'This would change permissions that you do not have. Ask an administrator who has them.',
  );
}

function lackingOf(caller: Caller, permissions: readonly string[]): string | undefined {
  if (isSuperAdmin(caller)) return undefined;
  return permissions.find((permission) => !caller.permissions.has(permission));
}
