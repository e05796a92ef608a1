import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditAction, AuditActor, AuditRecord } from '../../platform/audit/index.js';
import { ConflictError } from '../../platform/error/index.js';
import { AccessChange } from '../access/access.change.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { Passwords } from '../password/passwords.js';
import { RoleRepository } from '../role/role.repository.js';
import { requireNotSelf, UserAccessPolicy } from './user.access-policy.js';
import type { ChangedUserDto, NewUserDto } from './user.dto.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';
import { UserRoles } from './user.roles.js';

export type NewAccount = NewUserDto & Required<Pick<NewUserDto, 'nickName' | 'roleIds'>>;

/** Creates, changes and deletes the users of a tenant. */
@Injectable()
export class UserService {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly userRoles: UserRoles,
    private readonly policy: UserAccessPolicy,
    private readonly passwords: Passwords,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
  ) {}

  async create(caller: Caller, given: NewUserDto): Promise<void> {
    const { roleIds = [], nickName } = given;
    await this.policy.assignable(caller, roleIds);
    await this.createAccount(
      caller,
      { ...given, nickName: nickName || given.userName, roleIds },
      'create',
    );
  }

  /**
   * Creates a user without asking what the actor may do: for registrations and the first user of a tenant.
   * ConflictError if the name is taken or the tenant has reached its user limit.
   */
  async createAccount(
    actor: AuditActor,
    { password, roleIds, ...values }: NewAccount,
    action: AuditAction,
  ): Promise<void> {
    const { tenantId } = actor;
    const passwordHash = await this.passwords.hash(password);
    await this.change.apply(
      actor,
      async () => {
        await this.requireRoom(tenantId);
        await this.requireFreeName(tenantId, values.userName);
        const user = await this.users.insert(tenantId, { ...values, passwordHash });
        await this.roles.replaceOf(tenantId, user.id, roleIds);
        return user;
      },
      (user) => [{ action, target: 'user', id: user.id, detail: { roleIds } }],
    );
  }

  async update(caller: Caller, given: ChangedUserDto): Promise<void> {
    const { userId, roleIds, status, ...values } = given;
    await this.change.apply(
      caller,
      async () => {
        const user = await this.policy.manageableOne(caller, userId);
        if (values.userName && values.userName.toLowerCase() !== user.userName.toLowerCase()) {
          await this.requireFreeName(caller.tenantId, values.userName);
        }
        await this.users.users.update(caller.tenantId, userId, values);
        const entries: AuditRecord[] = [
          { action: 'update', target: 'user', id: userId, detail: { fields: fieldsOf(values) } },
        ];
        if (status !== undefined) entries.push(...(await this.setStatus(caller, user, status)));
        if (roleIds) entries.push(...(await this.userRoles.assign(caller, user, roleIds)));
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

  /** Of another user, whose sign-ins end. To change their own, callers must know the old one. */
  async resetPassword(caller: Caller, userId: number, password: string): Promise<void> {
    requireNotSelf(caller, [userId], 'reset the password of');
    const passwordHash = await this.passwords.hash(password);
    const user = await this.change.apply(
      caller,
      async () => {
        const found = await this.policy.manageableOne(caller, userId);
        await this.users.users.update(caller.tenantId, userId, { passwordHash });
        await this.sessions.endAllOf(caller.tenantId, userId);
        return found;
      },
      () => [{ action: 'password-change', target: 'user', id: userId }],
    );
    await this.passwords.unlock(user);
  }

  /** Deletes the users with their sign-ins and messages, and their names in the audit log. */
  async remove(caller: Caller, userIds: readonly number[]): Promise<void> {
    requireNotSelf(caller, userIds, 'delete');
    await this.change.apply(
      caller,
      async () => {
        const users = await this.policy.manageable(caller, userIds);
        await this.policy.requireSuperAdminWithout(caller.tenantId, userIds);
        await this.users.erase(caller.tenantId, users);
      },
      () => userIds.map((id) => ({ action: 'delete', target: 'user', id })),
    );
  }

  /** For a manageable user inside an access change. Returns what to write to the audit log. */
  private async setStatus(caller: Caller, user: User, status: string): Promise<AuditRecord[]> {
    if (user.status === status) return [];
    if (status !== '0') {
      requireNotSelf(caller, [user.id], 'disable');
      await this.policy.requireSuperAdminWithout(caller.tenantId, [user.id]);
    }
    await this.users.users.update(caller.tenantId, user.id, { status });
    // Last: a sign-in that is being opened either sees the new status or is deleted here.
    if (status !== '0') await this.sessions.endAllOf(caller.tenantId, user.id);
    return [{ action: 'status-change', target: 'user', id: user.id, detail: { status } }];
  }

  private async requireFreeName(tenantId: string, userName: string): Promise<void> {
    if (await this.users.byName(tenantId, userName)) {
      throw new ConflictError(`The user name ${userName} is taken. Choose another one.`);
    }
  }

  private async requireRoom(tenantId: string): Promise<void> {
    if (await this.users.roomLeft(tenantId)) return;
    throw new ConflictError(
      'This tenant has reached its limit of users. Delete one, or ask the operator to raise accountCount.',
    );
  }
}

function fieldsOf(values: object): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
