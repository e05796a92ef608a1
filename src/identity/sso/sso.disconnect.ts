import { Injectable } from '@nestjs/common';
import { inHomeTenant } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { UUID } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { GroupRepository } from '../group/group.repository.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { ProfileService } from '../user/profile.service.js';
import { requireNotSelf, UserAccessPolicy } from '../user/user.access-policy.js';
import { UserRepository } from '../user/user.repository.js';
import type { SsoIdentity } from './sso.entity.js';
import { LastWayError, PasswordNeededError } from './sso.errors.js';
import { SsoRepository } from './sso.repository.js';

/** Disconnects users from persons at providers, who then no longer sign in as these users. */
@Injectable()
export class SsoDisconnect {
  constructor(
    private readonly rows: SsoRepository,
    private readonly users: UserRepository,
    private readonly tenants: TenantRepository,
    private readonly profiles: ProfileService,
    private readonly policy: UserAccessPolicy,
    private readonly change: AccessChange,
    private readonly groups: GroupRepository,
  ) {}

  /**
   * Disconnects the caller from the provider and ends their sign-ins with it. Without another connection they must have a
   * password, which they prove by `password`, and be allowed to sign in with it. InvalidInputError, ConflictError or
   * NotFoundError otherwise.
   */
  async disconnectCaller(
    caller: Caller,
    publicId: string,
    { password, ip }: { readonly password?: string | undefined; readonly ip: string | undefined },
  ): Promise<void> {
    const { homeTenantId: tenantId, userId } = caller;
    // The password is checked before the transaction, because others wait for that.
    if (password) await this.profiles.requirePassword(caller, password, ip);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const provider = UUID.test(publicId)
          ? await this.rows.providers.findOne(tenantId, { publicId })
          : null;
        const providerId = provider?.id;
        const identities =
          providerId === undefined
            ? []
            : await this.rows.identities.find(tenantId, { providerId, userId });
        if (providerId === undefined || identities.length === 0) {
          throw new NotFoundError(msg`The connection`);
        }
        if (!(await this.rows.hasOther(tenantId, userId, providerId))) {
          await this.requirePasswordSignIn(tenantId, userId);
          if (!password) throw new PasswordNeededError();
        }
        return this.end(tenantId, identities);
      },
      (entries) => entries,
    );
  }

  /** Disconnects another user from all providers, for administrators, who can give them a password. */
  async disconnectUser(caller: Caller, userId: number): Promise<void> {
    const { tenantId } = caller;
    requireNotSelf(caller, [userId], msg`disconnect`);
    await this.change.apply(
      caller,
      async () => {
        await this.policy.manageableOne(caller, userId);
        return this.end(tenantId, await this.rows.identities.find(tenantId, { userId }));
      },
      (entries) => entries,
    );
  }

  private async requirePasswordSignIn(tenantId: string, userId: number): Promise<void> {
    const user = await this.users.users.get(tenantId, userId);
    const tenant = await this.tenants.byTenantId(tenantId);
    if (!tenant || !(await this.policy.mayUsePassword(tenant, user))) throw new LastWayError();
  }

  /** Ends the connections inside an access change and returns the audit entries. */
  private async end(tenantId: string, identities: readonly SsoIdentity[]): Promise<AuditRecord[]> {
    for (const { id, userId, providerId, subject } of identities) {
      await this.rows.endSessions(tenantId, providerId, { subject });
      const claimed = await this.groups.claimedOf(tenantId, providerId, userId);
      await this.groups.removeMembers(tenantId, [...claimed.values()], [userId]);
      await this.rows.identities.remove(tenantId, [id]);
    }
    return identities.map(({ userId: id, providerId: ssoProvider }) => ({
      action: 'update',
      target: 'user',
      id,
      detail: { ssoProvider, disconnected: true },
    }));
  }
}
