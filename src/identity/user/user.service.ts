import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { AccessChange } from '../access.change.js';
import { UserAccounts } from './user.accounts.js';
import type { ChangedUserDto, NewUserDto } from './user.dto.js';
import { requireOther, UserReach } from './user.reach.js';
import { UserRepository } from './user.repository.js';
import { UserStanding } from './user.standing.js';

/** Makes, changes and deletes the users of a tenant. */
@Injectable()
export class UserService {
  constructor(
    private readonly users: UserRepository,
    private readonly accounts: UserAccounts,
    private readonly reach: UserReach,
    private readonly standing: UserStanding,
    private readonly change: AccessChange,
  ) {}

  async create(caller: Caller, given: NewUserDto): Promise<void> {
    const { roleIds = [], nickName, ...values } = given;
    await this.reach.assignable(caller, roleIds);
    await this.accounts.create(
      caller,
      { ...values, nickName: nickName || given.userName, roleIds },
      'create',
    );
  }

  async update(caller: Caller, given: ChangedUserDto): Promise<void> {
    const { userId, roleIds, status, ...values } = given;
    await this.change.apply(
      caller,
      async () => {
        const user = await this.reach.changeableOne(caller, userId);
        if (values.userName && values.userName.toLowerCase() !== user.userName.toLowerCase()) {
          await this.accounts.requireFreeName(caller.tenantId, values.userName);
        }
        await this.users.users.update(caller.tenantId, userId, values);
        const entries: AuditRecord[] = [
          { action: 'update', target: 'user', id: userId, detail: { fields: fieldsOf(values) } },
        ];
        if (status !== undefined) entries.push(...(await this.standing.put(caller, user, status)));
        if (roleIds) entries.push(...(await this.standing.assign(caller, user, roleIds)));
        return entries;
      },
      (entries) => entries,
    );
  }

  /** Removes the users with their sign-ins and messages; what the audit log knows of them loses their names. */
  async remove(caller: Caller, userIds: readonly number[]): Promise<void> {
    requireOther(caller, userIds, 'delete');
    await this.change.apply(
      caller,
      async () => {
        const users = await this.reach.changeable(caller, userIds);
        await this.reach.requireSuperAdminWithout(caller.tenantId, userIds);
        await this.users.erase(caller.tenantId, users);
      },
      () => userIds.map((id) => ({ action: 'delete', target: 'user', id })),
    );
  }
}

function fieldsOf(values: object): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
