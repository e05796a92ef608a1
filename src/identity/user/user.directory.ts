import { Injectable } from '@nestjs/common';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { readTimeRange } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { toRoleView } from '../role/role.view.js';
import type { UserListQuery } from './user.dto.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { toUserView } from './user.view.js';
import type { UserDetailView, UserView } from './user.view.js';

/** The users of a tenant, as its administrators see them. */
@Injectable()
export class UserDirectory {
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
    return page.map((user) => view(caller, user, roles.get(user.id) ?? []));
  }

  async options(caller: Caller, userIds: readonly number[] | undefined): Promise<UserView[]> {
    const users = await (userIds
      ? this.users.byIds(caller.tenantId, userIds)
      : this.users.users.find(caller.tenantId, { status: '0' }, { id: 'ASC' }));
    return users.map((user) => view(caller, user, []));
  }

  /** What the form for a new user needs. */
  async form(caller: Caller): Promise<UserDetailView> {
    const roles = await this.givable(caller);
    return { user: null, roleIds: null, roles: roles.map((role) => toRoleView(role)), ...noPosts };
  }

  async detail(caller: Caller, userId: number): Promise<UserDetailView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const held = await this.roles.of(caller.tenantId, userId);
    const heldIds = held.map(({ id }) => id);
    const shown = await this.givable(caller, heldIds);
    return {
      user: view(caller, user, held),
      roleIds: heldIds,
      roles: shown.map((role) => toRoleView(role, heldIds.includes(role.id))),
      ...noPosts,
    };
  }

  /** The roles the caller may give, and those named: the ones a user has already. */
  private async givable(caller: Caller, and: readonly number[] = []): Promise<Role[]> {
    const roles = await this.roles.all(caller.tenantId);
    return roles.filter((role) => and.includes(role.id) || mayGive(caller, role));
  }
}

const noPosts: Pick<UserDetailView, 'postIds' | 'posts'> = { postIds: null, posts: [] };

function mayGive(caller: Caller, role: Role): boolean {
  return role.permissions.every((permission) => mayAny(caller, [permission]));
}

function view(caller: Caller, user: User, roles: readonly Role[]): UserView {
  return toUserView(user, roles, mayAny(caller, ['system:user:edit']) ? 'shown' : 'masked');
}
