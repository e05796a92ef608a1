import { Injectable } from '@nestjs/common';
import type { AuditAction, AuditActor } from '../../platform/audit/index.js';
import { ConflictError } from '../../platform/error/index.js';
import { AccessChange } from '../access.change.js';
import { Passwords } from '../password/passwords.js';
import { RoleRepository } from '../role/role.repository.js';
import type { User } from './user.entity.js';
import { UserRepository } from './user.repository.js';

export interface NewAccount {
  readonly userName: string;
  readonly nickName: string;
  readonly password: string;
  readonly roleIds: readonly number[];
  readonly email?: string | undefined;
  readonly phonenumber?: string | undefined;
  readonly sex?: string | undefined;
  readonly status?: string | undefined;
  readonly remark?: string | undefined;
}

/** Makes users: for administrators, for those who register, and the first one of a tenant. */
@Injectable()
export class UserAccounts {
  constructor(
    private readonly change: AccessChange,
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly passwords: Passwords,
  ) {}

  /** In the tenant of the actor. ConflictError when the name is taken or the tenant has all the users it may have. */
  async create(actor: AuditActor, account: NewAccount, action: AuditAction): Promise<User> {
    const { password, roleIds, ...values } = account;
    const passwordHash = await this.passwords.hash(password);
    return this.change.apply(
      actor,
      async () => {
        await this.requireRoom(actor.tenantId);
        await this.requireFreeName(actor.tenantId, account.userName);
        const user = await this.users.insert(actor.tenantId, { ...values, passwordHash });
        await this.roles.replaceOf(actor.tenantId, user.id, roleIds);
        return user;
      },
      (user) => [{ action, target: 'user', id: user.id, detail: { roleIds } }],
    );
  }

  async requireFreeName(tenantId: string, userName: string): Promise<void> {
    if (await this.users.byName(tenantId, userName)) {
      throw new ConflictError(`The user name ${userName} is taken. Choose another one.`);
    }
  }

  private async requireRoom(tenantId: string): Promise<void> {
    if (await this.users.roomLeft(tenantId)) return;
    throw new ConflictError(
      'This tenant has all the users it may have. Delete one, or ask the operator to raise accountCount.',
    );
  }
}
