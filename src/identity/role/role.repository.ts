import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import {
  containing,
  createdWithin,
  Database,
  TenantScoped,
} from '../../platform/database/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { RoleListQuery } from './role.dto.js';
import { Role, SUPERADMIN_ROLE, UserRole } from './role.entity.js';

@Injectable()
export class RoleRepository {
  readonly roles: TenantScoped<Role>;

  constructor(private readonly database: Database) {
    this.roles = new TenantScoped(database, Role, msg`The role`);
  }

  async page(tenantId: string, query: RoleListQuery): Promise<Page<Role>> {
    const { roleName, roleKey, status } = query;
    const where: FindOptionsWhere<Role> = {
      ...(roleName && { roleName: containing(roleName) }),
      ...(roleKey && { roleKey: containing(roleKey) }),
      ...(status && { status }),
      ...createdWithin(query.params),
    };
    return this.roles.page(tenantId, query, where, { roleSort: 'ASC', id: 'ASC' });
  }

  async all(tenantId: string): Promise<Role[]> {
    return this.roles.choices(tenantId, {}, { roleSort: 'ASC', id: 'ASC' });
  }

  async byKey(tenantId: string, roleKey: string): Promise<Role | null> {
    return this.roles.findOne(tenantId, { roleKey });
  }

  async byIds(tenantId: string, ids: readonly number[]): Promise<Role[]> {
    return this.roles.find(tenantId, { id: In([...ids]) }, { roleSort: 'ASC', id: 'ASC' });
  }

  /** The roles of a user, including disabled ones. */
  async of(tenantId: string, userId: number): Promise<Role[]> {
    return this.byIds(
      tenantId,
      (await this.pairsOf(tenantId, [userId])).map(({ roleId }) => roleId),
    );
  }

  /** The roles of several users, by user id. */
  async ofMany(tenantId: string, userIds: readonly number[]): Promise<Map<number, Role[]>> {
    const pairs = await this.pairsOf(tenantId, userIds);
    const roles = await this.byIds(tenantId, [...new Set(pairs.map(({ roleId }) => roleId))]);
    const byUser = Map.groupBy(pairs, ({ userId }) => userId);
    return new Map(
      userIds.map((id) => {
        const currentIds = new Set((byUser.get(id) ?? []).map(({ roleId }) => roleId));
        return [id, roles.filter((role) => currentIds.has(role.id))];
      }),
    );
  }

  async userIdsOf(tenantId: string, roleId: number): Promise<number[]> {
    const pairs = await this.database.repository(UserRole).findBy({ tenantId, roleId });
    return pairs.map(({ userId }) => userId);
  }

  /** Assigns the role to those of the users who do not have it yet. */
  async assign(tenantId: string, roleId: number, userIds: readonly number[]): Promise<void> {
    if (userIds.length === 0) return;
    await this.database
      .repository(UserRole)
      .createQueryBuilder()
      .insert()
      .values(userIds.map((userId) => ({ tenantId, userId, roleId })))
      .orIgnore()
      .execute();
  }

  async unassign(tenantId: string, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.database.repository(UserRole).delete({ tenantId, roleId, userId: In([...userIds]) });
  }

  /** Replaces the roles of the user. */
  async replaceOf(tenantId: string, userId: number, roleIds: readonly number[]): Promise<void> {
    const pairs = this.database.repository(UserRole);
    await pairs.delete({ tenantId, userId });
    if (roleIds.length > 0) {
      await pairs.insert(roleIds.map((roleId) => ({ tenantId, userId, roleId })));
    }
  }

  /** The number of enabled super administrators without the given users. */
  async countSuperAdmins(tenantId: string, exceptUserIds: readonly number[]): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(DISTINCT u.id) AS count
         FROM user_account u
         JOIN user_role ur ON ur.user_id = u.id AND ur.tenant_id = u.tenant_id
         JOIN role r ON r.id = ur.role_id AND r.tenant_id = ur.tenant_id
        WHERE u.tenant_id = $1 AND u.status = '0' AND r.role_key = $2 AND u.id <> ALL ($3::bigint[])`,
      [tenantId, SUPERADMIN_ROLE, [...exceptUserIds]],
    );
    return row?.count ?? 0;
  }

  private async pairsOf(tenantId: string, userIds: readonly number[]): Promise<UserRole[]> {
    return this.database.repository(UserRole).findBy({ tenantId, userId: In([...userIds]) });
  }
}
