import { Injectable } from '@nestjs/common';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { readTimeRange } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { toRoleView } from '../role/role.view.js';
import type { UserListQuery } from './user.dto.js';
import { UserRepository } from './user.repository.js';
import { viewFor } from './user.view.js';
import type { UserDetailView, UserView } from './user.view.js';

/** The users of a tenant, for administrators. */
@Injectable()
export class UserSearch {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
  ) {}

  async list(caller: Caller, query: UserListQuery): Promise<Page<UserView>> {
    const range = readTimeRange(query.params);
    const page = await this.users.page(caller.tenantId, query, { ...query, ...range });
    const roles = await this.roles.ofMany(
      caller.tenantId,
      page.rows.map(({ id }) => id),
    );
    return page.map((user) => viewFor(caller, user, roles.get(user.id) ?? []));
  }

  async options(caller: Caller, userIds: readonly number[] | undefined): Promise<UserView[]> {
    const users = await (userIds
      ? this.users.byIds(caller.tenantId, userIds)
      : this.users.users.find(caller.tenantId, { status: '0' }, { id: 'ASC' }));
    return users.map((user) => viewFor(caller, user, []));
  }

  /** The roles to choose from for a new user. */
  async form(caller: Caller): Promise<UserDetailView> {
    const roles = await this.assignable(caller);
    return { user: null, roleIds: null, roles: roles.map((role) => toRoleView(role)), ...noPosts };
  }

  async detail(caller: Caller, userId: number): Promise<UserDetailView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const held = await this.roles.of(caller.tenantId, userId);
    const heldIds = held.map(({ id }) => id);
    const shown = await this.assignable(caller, heldIds);
    return {
      user: viewFor(caller, user, held),
      roleIds: heldIds,
      roles: shown.map((role) => toRoleView(role, heldIds.includes(role.id))),
      ...noPosts,
    };
  }

  /** The roles that the caller may assign, and those given, which the user has already. */
  private async assignable(caller: Caller, and: readonly number[] = []): Promise<Role[]> {
    const roles = await this.roles.all(caller.tenantId);
    return roles.filter((role) => and.includes(role.id) || mayAssign(caller, role));
  }
}

const noPosts: Pick<UserDetailView, 'postIds' | 'posts'> = { postIds: null, posts: [] };

function mayAssign(caller: Caller, role: Role): boolean {
  return role.permissions.every((permission) => mayAny(caller, [permission]));
}
