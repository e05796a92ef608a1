import { Injectable } from '@nestjs/common';
import { isAssignable, isSuperAdmin, permissionsOf } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ConflictError, ForbiddenError, InvalidInputError } from '../../platform/error/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange, requireHeld, requireNotAbove } from '../access/access.change.js';
import { departmentTree } from './department.js';
import { checkedNumbers, permissionsWithNumbers, permissionTree } from './permission-tree.js';
import type { PermissionNodeView, RolePermissionsView } from './permission-tree.js';
import { toRoleView } from './role.dto.js';
import type {
  ChangedRoleDto,
  NewRoleDto,
  RoleDepartmentsView,
  RoleListQuery,
  RoleView,
} from './role.dto.js';
import { SUPERADMIN_ROLE } from './role.entity.js';
import type { Role } from './role.entity.js';
import { RoleRepository } from './role.repository.js';

const ALL_DATA = '1';

/** The roles of a tenant. */
@Injectable()
export class RoleService {
  constructor(
    private readonly roles: RoleRepository,
    private readonly change: AccessChange,
  ) {}

  async list(caller: Caller, query: RoleListQuery): Promise<Page<RoleView>> {
    const page = await this.roles.page(caller.tenantId, query);
    return page.map((role) => toRoleView(role));
  }

  async options(caller: Caller, roleIds: readonly number[] | undefined): Promise<RoleView[]> {
    const roles = await (roleIds
      ? this.roles.byIds(caller.tenantId, roleIds)
      : this.roles.all(caller.tenantId));
    return roles
      .filter((role) => roleIds !== undefined || role.status === '0')
      .map((role) => toRoleView(role));
  }

  async detail(caller: Caller, roleId: number): Promise<RoleView> {
    return toRoleView(await this.roles.roles.get(caller.tenantId, roleId));
  }

  /** The permissions that the caller can assign, as a tree. */
  permissionTree(caller: Caller): PermissionNodeView[] {
    return permissionTree(caller);
  }

  /** The tree of permissions, with those of the role checked. */
  async permissionsOf(caller: Caller, roleId: number): Promise<RolePermissionsView> {
    const role = await this.roles.roles.get(caller.tenantId, roleId);
    const permissions = role.permissions.flatMap(permissionsOf);
    return { checkedKeys: checkedNumbers(permissions), menus: permissionTree(caller, permissions) };
  }

  async departmentsOf(caller: Caller, roleId: number): Promise<RoleDepartmentsView> {
    await this.roles.roles.get(caller.tenantId, roleId);
    return { checkedKeys: [], depts: departmentTree() };
  }

  /** Throws InvalidInputError for every data scope but "all". */
  async checkDataScope(caller: Caller, roleId: number, dataScope: string): Promise<void> {
    await this.roles.roles.get(caller.tenantId, roleId);
    if (dataScope === ALL_DATA) return;
    throw new InvalidInputError(
      msg`dataScope must be 1, all data. What a role may see follows from its permissions: change them instead.`,
    );
  }

  async create(caller: Caller, { menuIds, ...input }: NewRoleDto): Promise<void> {
    const permissions = readPermissions(requestedPermissions(input.permissions, menuIds) ?? []);
    requireHeld(caller, { permissions });
    await this.change.apply(
      caller,
      async () => {
        await this.requireFreeKey(caller.tenantId, input.roleKey);
        return this.roles.roles.insert(caller.tenantId, { ...input, permissions });
      },
      (role) => [{ action: 'create', target: 'role', id: role.id, detail: { permissions } }],
    );
  }

  async update(
    caller: Caller,
    { roleId, revision, menuIds, ...input }: ChangedRoleDto,
  ): Promise<void> {
    const named = requestedPermissions(input.permissions, menuIds);
    const permissions = named && readPermissions(named);
    await this.change.apply(
      caller,
      async () => {
        const role = await this.changeable(caller, roleId);
        await this.roles.roles.requireRevision(caller.tenantId, roleId, {
          expected: revision,
          current: () => this.detail(caller, roleId),
        });
        if (permissions) requireHeld(caller, { permissions });
        if (input.roleKey && input.roleKey !== role.roleKey) {
          await this.requireFreeKey(caller.tenantId, input.roleKey);
        }
        await this.requireNotOwn(caller, role, { ...input, permissions });
        await this.roles.roles.update(caller.tenantId, roleId, { ...input, permissions });
        return role;
      },
      (before) => [
        {
          action: permissions ? 'permission-change' : 'update',
          target: 'role',
          id: roleId,
          detail: {
            ...(permissions && { before: before.permissions, after: permissions }),
            ...(input.secondFactor && { secondFactor: input.secondFactor }),
          },
        },
      ],
    );
  }

  async changeStatus(caller: Caller, roleId: number, status: string): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        const role = await this.changeable(caller, roleId);
        await this.requireNotOwn(caller, role, { status });
        await this.roles.roles.update(caller.tenantId, roleId, { status });
      },
      () => [{ action: 'status-change', target: 'role', id: roleId, detail: { status } }],
    );
  }

  async remove(caller: Caller, roleIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        for (const roleId of roleIds) {
          const role = await this.changeable(caller, roleId);
          if ((await this.roles.userIdsOf(caller.tenantId, roleId)).length === 0) continue;
          throw new ConflictError(
            msg`The role ${role.roleName} still has users. Remove it from them first.`,
          );
        }
        await this.roles.roles.remove(caller.tenantId, roleIds);
      },
      () => roleIds.map((id) => ({ action: 'delete', target: 'role', id })),
    );
  }

  /** Loads a role to change. Throws ForbiddenError if it is that of super administrators or has a permission that the caller lacks. */
  private async changeable(caller: Caller, roleId: number): Promise<Role> {
    const role = await this.roles.roles.get(caller.tenantId, roleId);
    if (role.roleKey === SUPERADMIN_ROLE) {
      throw new ForbiddenError(
        msg`The role superadmin cannot be changed. Create another role instead.`,
      );
    }
    requireNotAbove(caller, [role]);
    return role;
  }

  /** Throws ForbiddenError if the change would remove permissions from the caller. */
  private async requireNotOwn(
    caller: Caller,
    role: Role,
    change: { permissions?: readonly string[] | undefined; status?: string | undefined },
  ): Promise<void> {
    const { permissions, status } = change;
    const grantedPermissions = permissions && new Set(permissions.flatMap(permissionsOf));
    const before = role.permissions.flatMap(permissionsOf);
    const shrinks =
      status === '1' || (grantedPermissions && before.some((one) => !grantedPermissions.has(one)));
    if (!shrinks || isSuperAdmin(caller)) return;
    if (!(await this.roles.userIdsOf(caller.tenantId, role.id)).includes(caller.userId)) return;
    throw new ForbiddenError(
      msg`You have this role and cannot remove permissions from yourself. Ask another administrator.`,
    );
  }

  private async requireFreeKey(tenantId: string, roleKey: string): Promise<void> {
    if (roleKey.toLowerCase() === SUPERADMIN_ROLE) {
      throw new ConflictError(msg`The role key superadmin is reserved. Choose another one.`);
    }
    if (await this.roles.byKey(tenantId, roleKey)) {
      throw new ConflictError(msg`The role key ${roleKey} is taken. Choose another one.`);
    }
  }
}

/** The requested permissions, which existing consoles send as `menuIds`. */
function requestedPermissions(
  permissions: readonly string[] | undefined,
  menuIds: readonly number[] | undefined,
): readonly string[] | undefined {
  return menuIds ? permissionsWithNumbers(menuIds) : permissions;
}

function readPermissions(input: readonly string[]): string[] {
  const unknown = input.find((permission) => !isAssignable(permission));
  if (unknown !== undefined) {
    throw new InvalidInputError(
      msg`permissions: ${unknown} cannot be assigned. GET /system/permission/list names those that can; system:info:* stands for all that begin so.`,
    );
  }
  return [...new Set(input)];
}
