import { Injectable } from '@nestjs/common';
import { isSuperAdmin, permissionsOf, TenantRevision } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import type { AuditActor, AuditRecord } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/**
 * A change of what users of a tenant may do: one transaction that invalidates caches, checks open streams after the
 * commit and writes to the audit log. Changes of one tenant run one after the other, so that what a change has counted
 * or compared still holds when it is committed.
 */
@Injectable()
export class AccessChange {
  constructor(
    private readonly database: Database,
    private readonly revision: TenantRevision,
    private readonly audit: AuditLog,
  ) {}

  async apply<Result>(
    actor: AuditActor,
    change: () => Promise<Result>,
    entries: (result: Result) => readonly AuditRecord[],
  ): Promise<Result> {
    const { tenantId } = actor;
    return this.database.transactionIn(tenantId, async () => {
      // This comes first: it locks the row of the tenant until the transaction ends.
      await this.revision.incrementAccess(tenantId);
      const result = await change();
      await this.audit.recordAll(actor, entries(result));
      return result;
    });
  }
}

interface Granting {
  readonly permissions: readonly string[];
}

/** A caller can assign only permissions they have: ForbiddenError names the first one that they lack. */
export function requireHeld(caller: Caller, granted: Granting): void {
  const lacking = lackingOf(caller, granted.permissions);
  if (lacking === undefined) return;
  throw new ForbiddenError(
    msg`You cannot assign the permission ${lacking}, because you do not have it. Ask an administrator who does.`,
  );
}

/** A caller can change only roles and users whose permissions they have: otherwise ForbiddenError. */
export function requireNotAbove(caller: Caller, roles: readonly Granting[]): void {
  const permissions = roles.flatMap((role) => role.permissions);
  if (lackingOf(caller, permissions) === undefined) return;
  throw new ForbiddenError(
    msg`This would change permissions that you do not have. Ask an administrator who has them.`,
  );
}

function lackingOf(caller: Caller, permissions: readonly string[]): string | undefined {
  if (isSuperAdmin(caller)) return undefined;
  return permissions
    .flatMap(permissionsOf)
    .find((permission) => !caller.permissions.has(permission));
}
