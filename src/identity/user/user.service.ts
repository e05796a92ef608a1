import { Injectable } from '@nestjs/common';
import { mayAny, permissionsOf, UserLifecycle } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import type { AuditAction, AuditActor, AuditRecord } from '../../platform/audit/index.js';
import { withLongStatements } from '../../platform/database/index.js';
import { ConflictError, ForbiddenError, NotFoundError } from '../../platform/error/index.js';
import { isBlank, orderOf } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange, requireHeld } from '../access/access.change.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { accountOf, Passwords, randomPassword } from '../password/passwords.js';
import { toRoleView } from '../role/role.dto.js';
import { SUPERADMIN_ROLE } from '../role/role.entity.js';
import type { Role } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { Avatars } from './avatars.js';
import { requireNotSelf, UserAccessPolicy } from './user.access-policy.js';
import type {
  ChangedUserDto,
  NewServiceAccountDto,
  NewUserDto,
  RoleMemberQuery,
  UserListQuery,
} from './user.dto.js';
import { NO_PASSWORD, SERVICE_ACCOUNT } from './user.entity.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { maySeePhone, toUserView, viewFor } from './user.view.js';
import type { UserDetailView, UserRolesView, UserView } from './user.view.js';

const WITHOUT_PASSWORD = msg`A service account has no password. Create an API key for it.`;

export type NewAccount = NewUserDto & Required<Pick<NewUserDto, 'nickName' | 'roleIds'>>;

/** The users of a tenant, for administrators, and which roles they have. Changes take effect with a user's next request. */
@Injectable()
export class UserService {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly policy: UserAccessPolicy,
    private readonly passwords: Passwords,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
    private readonly lifecycle: UserLifecycle,
    private readonly audit: AuditLog,
    private readonly avatars: Avatars,
  ) {}

  async list(caller: Caller, query: UserListQuery): Promise<Page<UserView>> {
    requirePhoneVisible(caller, query);
    const { roleId } = query;
    const memberIds =
      roleId === undefined ? undefined : await this.roles.userIdsOf(caller.tenantId, roleId);
    const page = await this.users.page(caller.tenantId, query, memberIds);
    const roles = await this.roles.ofMany(
      caller.tenantId,
      page.rows.map(({ id }) => id),
    );
    const avatarOf = await this.avatars.addresses();
    return page.map((user) => viewFor(caller, user, roles.get(user.id) ?? [], avatarOf));
  }

  async options(caller: Caller, userIds: readonly number[] | undefined): Promise<UserView[]> {
    const users = await (userIds
      ? this.users.byIds(caller.tenantId, userIds)
      : this.users.users.choices(caller.tenantId, { status: '0' }, { id: 'ASC' }));
    const avatarOf = await this.avatars.addresses();
    return users.map((user) => viewFor(caller, user, [], avatarOf));
  }

  /** The roles to choose from for a new user. */
  async form(caller: Caller): Promise<UserDetailView> {
    const roles = await this.assignableBy(caller);
    return { user: null, roleIds: null, roles: roles.map((role) => toRoleView(role)), ...noPosts };
  }

  async detail(caller: Caller, userId: number): Promise<UserDetailView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const userRoles = await this.roles.of(caller.tenantId, userId);
    const assignedIds = userRoles.map(({ id }) => id);
    const selectableRoles = await this.assignableBy(caller, assignedIds);
    return {
      user: viewFor(caller, user, userRoles, await this.avatars.addresses()),
      roleIds: assignedIds,
      roles: selectableRoles.map((role) => toRoleView(role, assignedIds.includes(role.id))),
      ...noPosts,
    };
  }

  /** Creates a user. `passwordHash` is given if the password has already been hashed. */
  async create(caller: Caller, input: NewUserDto, passwordHash?: string): Promise<void> {
    const { roleIds = [], nickName = '' } = input;
    const shownName = isBlank(nickName) ? input.userName : nickName;
    await this.policy.assignable(caller, roleIds);
    const account = { ...input, nickName: shownName, roleIds };
    await this.createAccount(caller, account, 'create', passwordHash);
  }

  async createService(caller: Caller, input: NewServiceAccountDto): Promise<number> {
    const { roleIds = [], nickName = '', ...values } = input;
    await this.policy.assignable(caller, roleIds);
    const shownName = isBlank(nickName) ? input.userName : nickName;
    const account = { ...values, nickName: shownName, userType: SERVICE_ACCOUNT };
    return this.insert(caller, { ...account, passwordHash: NO_PASSWORD }, roleIds, 'create');
  }

  /**
   * Creates a user without asking what the actor may do: for registrations and the first user of a tenant.
   * ConflictError if the name is taken or the tenant has reached its user limit. Returns the id.
   */
  async createAccount(
    actor: AuditActor,
    { password, roleIds, ...values }: NewAccount,
    action: AuditAction,
    passwordHash?: string,
  ): Promise<number> {
    const hash = passwordHash ?? (await this.passwords.hash(password));
    return this.insert(actor, { ...values, passwordHash: hash }, roleIds, action);
  }

  private async insert(
    actor: AuditActor,
    values: Partial<User> & Pick<User, 'userName'>,
    givenRoleIds: readonly number[],
    action: AuditAction,
  ): Promise<number> {
    const { tenantId } = actor;
    // A role may be given twice, in an import by its name and by its key.
    const roleIds = [...new Set(givenRoleIds)];
    return this.change.apply(
      actor,
      async () => {
        await this.requireRoom(tenantId);
        await this.requireFreeName(tenantId, values.userName);
        const { id } = await this.users.users.insert(tenantId, values);
        await this.roles.replaceOf(tenantId, id, roleIds);
        return id;
      },
      (id) => [{ action, target: 'user', id, detail: { roleIds } }],
    );
  }

  async update(caller: Caller, input: ChangedUserDto): Promise<void> {
    const { userId, revision, roleIds, status, ...values } = input;
    await this.change.apply(
      caller,
      async () => {
        const user = await this.policy.manageableOne(caller, userId);
        await this.users.users.requireRevision(caller.tenantId, userId, {
          expected: revision,
          current: async () => (await this.detail(caller, userId)).user,
        });
        if (values.userName) await this.requireFreeName(caller.tenantId, values.userName, userId);
        await this.users.users.update(caller.tenantId, userId, values);
        const entries: AuditRecord[] = [
          { action: 'update', target: 'user', id: userId, detail: { fields: fieldsOf(values) } },
        ];
        if (status !== undefined) entries.push(...(await this.setStatus(caller, user, status)));
        if (roleIds) entries.push(...(await this.assignRoles(caller, user, roleIds)));
        return entries;
      },
      (entries) => entries,
    );
  }

  async changeStatus(caller: Caller, userId: number, status: string): Promise<void> {
    await this.change.apply(
      caller,
      async () => this.setStatus(caller, await this.policy.manageableOne(caller, userId), status),
      (entries) => entries,
    );
  }

  /** Sets the password of another user and ends their sign-ins and locks. Callers change their own with the old one. */
  async resetPassword(caller: Caller, userId: number, password: string): Promise<void> {
    requireNotSelf(caller, [userId], msg`reset the password of`);
    const passwordHash = await this.passwords.hash(password);
    await this.change.apply(
      caller,
      async () => {
        const { userType } = await this.policy.manageableOne(caller, userId);
        if (userType === SERVICE_ACCOUNT) throw new ConflictError(WITHOUT_PASSWORD);
        await this.users.users.update(caller.tenantId, userId, { passwordHash });
        await this.sessions.endAllOf(caller.tenantId, userId);
      },
      () => [{ action: 'password-change', target: 'user', id: userId }],
    );
  }

  /** Sets a random password and returns it; undefined if no user of the tenant has the name. */
  async renewPassword(caller: Caller, userName: string): Promise<string | undefined> {
    const user = await this.users.byName(caller.tenantId, userName);
    if (!user) return undefined;
    const password = randomPassword();
    await this.resetPassword(caller, user.id, password);
    return password;
  }

  /** Ends the lock after too many wrong passwords, as a new password would, for a user whose password the caller may set. */
  async unlock(caller: Caller, userName: string): Promise<void> {
    const { tenantId } = caller;
    const sameName = await this.users.byName(tenantId, userName);
    if (!sameName) throw new NotFoundError(msg`The user`);
    const user = await this.policy.manageableOne(caller, sameName.id);
    // A wrong password that counts may be as old as the lock that it has begun.
    const since = new Date(Date.now() - 2 * this.passwords.lockSeconds * 1_000);
    const ips = await this.audit.failedSignIns(tenantId, user.userName, since);
    await this.passwords.unlock(accountOf(tenantId, user, user.userName), ips);
    await this.audit.record(caller, {
      action: 'update',
      target: 'user',
      id: user.id,
      detail: { unlocked: true },
    });
  }

  /** Deletes the users with their sign-ins, messages and the files of those, and their names in the audit log. */
  async remove(caller: Caller, userIds: readonly number[]): Promise<void> {
    requireNotSelf(caller, userIds, msg`delete`);
    await this.change.apply(
      caller,
      async () => {
        const users = await this.policy.manageable(caller, userIds);
        await this.policy.requireSuperAdminWithout(caller.tenantId, userIds);
        await this.policy.requireBreakGlassWithout(caller.tenantId, userIds);
        await withLongStatements(async () => {
          await this.lifecycle.deleting(userIds);
          await this.users.erase(caller.tenantId, users);
        });
      },
      () => userIds.map((id) => ({ action: 'delete', target: 'user', id })),
    );
  }

  /** The user, and all roles of the tenant with those of the user flagged. */
  async rolesOf(caller: Caller, userId: number): Promise<UserRolesView> {
    const user = await this.users.users.get(caller.tenantId, userId);
    const userRoles = await this.roles.of(caller.tenantId, userId);
    const all = await this.roles.all(caller.tenantId);
    const heldIds = new Set(userRoles.map(({ id }) => id));
    return {
      user: toUserView(user, userRoles, 'masked', await this.avatars.addresses()),
      roles: all.map((role) => toRoleView(role, heldIds.has(role.id))),
    };
  }

  async replaceRoles(caller: Caller, userId: number, roleIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () =>
        this.assignRoles(caller, await this.policy.manageableOne(caller, userId), roleIds),
      (entries) => entries,
    );
  }

  /** The users that have the role, or those that do not. */
  async members(
    caller: Caller,
    query: RoleMemberQuery,
    which: 'having' | 'lacking',
  ): Promise<Page<UserView>> {
    requirePhoneVisible(caller, query);
    await this.roles.roles.get(caller.tenantId, query.roleId);
    const memberIds = await this.roles.userIdsOf(caller.tenantId, query.roleId);
    const page = await this.users.pageByRole(caller.tenantId, query, which, memberIds);
    const avatarOf = await this.avatars.addresses();
    return page.map((user) => viewFor(caller, user, [], avatarOf));
  }

  async addMembers(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        requireHeld(caller, await this.roles.roles.get(caller.tenantId, roleId));
        requireNotSelf(caller, userIds, msg`change the roles of`);
        await this.policy.manageable(caller, userIds);
        await this.roles.assign(caller.tenantId, roleId, userIds);
      },
      () => permissionChanges(userIds, { gave: roleId }),
    );
  }

  async removeMembers(caller: Caller, roleId: number, userIds: readonly number[]): Promise<void> {
    await this.change.apply(
      caller,
      async () => {
        const role = await this.roles.roles.get(caller.tenantId, roleId);
        requireNotSelf(caller, userIds, msg`change the roles of`);
        await this.policy.manageable(caller, userIds);
        await this.roles.unassign(caller.tenantId, roleId, userIds);
        if (role.roleKey === SUPERADMIN_ROLE) {
          await this.policy.requireSuperAdminWithout(caller.tenantId, userIds);
        }
      },
      () => permissionChanges(userIds, { took: roleId }),
    );
  }

  /** Replaces the roles of a manageable user inside an access change. Returns what to write to the audit log. */
  private async assignRoles(
    caller: Caller,
    user: User,
    roleIds: readonly number[],
  ): Promise<AuditRecord[]> {
    const { tenantId } = caller;
    const currentRoles = await this.roles.of(tenantId, user.id);
    const requestedRoles = await this.policy.assignable(caller, roleIds);
    const before = new Set(currentRoles.map(({ id }) => id));
    const after = new Set(requestedRoles.map(({ id }) => id));
    if (before.size === after.size && [...before].every((id) => after.has(id))) return [];
    requireNotSelf(caller, [user.id], msg`change the roles of`);
    await this.roles.replaceOf(tenantId, user.id, [...after]);
    if (currentRoles.some(({ roleKey, id }) => roleKey === SUPERADMIN_ROLE && !after.has(id))) {
      await this.policy.requireSuperAdminWithout(tenantId, [user.id]);
    }
    const detail = { before: [...before], after: [...after] };
    return [{ action: 'permission-change', target: 'user', id: user.id, detail }];
  }

  /** Sets the status of a manageable user inside an access change. Returns the audit entries. */
  private async setStatus(caller: Caller, user: User, status: string): Promise<AuditRecord[]> {
    if (user.status === status) {
      // Who was suspended stays disabled now, whatever the provider says.
      if (user.suspended)
        await this.users.users.update(caller.tenantId, user.id, { suspended: false });
      return [];
    }
    if (status !== '0') {
      requireNotSelf(caller, [user.id], msg`disable`);
      await this.policy.requireSuperAdminWithout(caller.tenantId, [user.id]);
      await this.policy.requireBreakGlassWithout(caller.tenantId, [user.id]);
    }
    await this.users.users.update(caller.tenantId, user.id, { status, suspended: false });
    // This comes last: a sign-in that is being opened either sees the new status or is deleted here.
    if (status !== '0') await this.sessions.endAllOf(caller.tenantId, user.id);
    return [{ action: 'status-change', target: 'user', id: user.id, detail: { status } }];
  }

  /** Throws ConflictError if another user than the given one has the name. */
  private async requireFreeName(
    tenantId: string,
    userName: string,
    userId?: number,
  ): Promise<void> {
    const holder = await this.users.byName(tenantId, userName);
    if (holder && holder.id !== userId) {
      throw new ConflictError(msg`The user name ${userName} is taken. Choose another one.`);
    }
  }

  private async requireRoom(tenantId: string): Promise<void> {
    if (await this.users.canAddUser(tenantId)) return;
    throw new ConflictError(
      msg`This tenant has reached its limit of users. Delete one, or ask the operator to raise accountCount.`,
    );
  }

  /** The roles that the caller may assign and those that the user already has. */
  private async assignableBy(caller: Caller, and: readonly number[] = []): Promise<Role[]> {
    const roles = await this.roles.all(caller.tenantId);
    return roles.filter((role) => and.includes(role.id) || mayAssign(caller, role));
  }
}

/** Throws ForbiddenError for a filter or an order by telephone numbers that the caller sees masked: both would reveal them. */
function requirePhoneVisible(caller: Caller, query: UserListQuery | RoleMemberQuery): void {
  const orders = orderOf(query).some(([column]) => column === 'phonenumber');
  if ((!query.phonenumber && !orders) || maySeePhone(caller)) return;
  throw new ForbiddenError(
    msg`You need the permission system:user:edit to search or order by phonenumber. Leave phonenumber out, or ask an administrator for it.`,
  );
}

const noPosts: Pick<UserDetailView, 'postIds' | 'posts'> = { postIds: null, posts: [] };

function mayAssign(caller: Caller, role: Role): boolean {
  return role.permissions
    .flatMap(permissionsOf)
    .every((permission) => mayAny(caller, [permission]));
}

function permissionChanges(
  userIds: readonly number[],
  detail: Record<string, number>,
): AuditRecord[] {
  return userIds.map((id) => ({ action: 'permission-change', target: 'user', id, detail }));
}

function fieldsOf(values: object): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
