import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ALL_PERMISSIONS } from '../../platform/access/index.js';
import { SUPERADMIN_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { HOME_TENANT } from '../tenant/tenant.entity.js';

export interface Grants {
  readonly permissions: ReadonlySet<string>;
  readonly roleKeys: readonly string[];
}

const ALL: Grants = { permissions: new Set([ALL_PERMISSIONS]), roleKeys: [SUPERADMIN_ROLE] };

const CACHED_USERS = 10_000;

/** What users may do by their active roles; read again only when the revision of their tenant has moved. */
@Injectable()
export class UserGrants {
  private readonly grants = new LRUCache<number, Grants & { readonly revision: number }>({
    max: CACHED_USERS,
  });

  constructor(private readonly roles: RoleRepository) {}

  /** `tenantId` and `revision` are those of the tenant that the user belongs to. */
  async of(
    { tenantId, userId }: { readonly tenantId: string; readonly userId: number },
    revision: number,
  ): Promise<Grants> {
    const cached = this.grants.get(userId);
    if (cached?.revision === revision) return cached;
    const roles = await this.roles.activeOf(tenantId, userId);
    const superAdmin =
      tenantId === HOME_TENANT && roles.some((role) => role.roleKey === SUPERADMIN_ROLE);
    const grants: Grants = superAdmin
      ? ALL
      : {
          permissions: new Set(
            roles
              .flatMap((role) => role.permissions)
              .filter((permission) => permission !== ALL_PERMISSIONS),
          ),
          roleKeys: roles.map((role) => role.roleKey),
        };
    this.grants.set(userId, { ...grants, revision });
    return grants;
  }
}
