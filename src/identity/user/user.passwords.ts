import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { AccessChange } from '../access.change.js';
import { Passwords } from '../password/passwords.js';
import { LoginSessionRepository } from '../sign-in/login-session.repository.js';
import { atHome } from '../sign-in/sign-in.service.js';
import { requireOther, UserReach } from './user.reach.js';
import { UserRepository } from './user.repository.js';

/** Changes passwords. Sign-ins that were opened with the old one end. */
@Injectable()
export class UserPasswords {
  constructor(
    private readonly users: UserRepository,
    private readonly reach: UserReach,
    private readonly passwords: Passwords,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
  ) {}

  /** Of another user; whoever changes the own one must know the old one. */
  async reset(caller: Caller, userId: number, password: string): Promise<void> {
    requireOther(caller, [userId], 'reset the password of');
    const passwordHash = await this.passwords.hash(password);
    const user = await this.change.apply(
      caller,
      async () => {
        const found = await this.reach.changeableOne(caller, userId);
        await this.users.users.update(caller.tenantId, userId, { passwordHash });
        await this.sessions.endAllOf(caller.tenantId, userId);
        return found;
      },
      () => [{ action: 'password-change', target: 'user', id: userId }],
    );
    await this.passwords.unlock(user);
  }

  /** All sign-ins but the one it is done with end. */
  async changeOwn(caller: Caller, oldPassword: string, newPassword: string): Promise<void> {
    const { homeTenantId: tenantId, userId } = caller;
    const user = await inTenant(tenantId, () => this.users.users.get(tenantId, userId));
    if (!(await this.passwords.passes(user, user.passwordHash, oldPassword))) {
      throw new InvalidInputError('The old password is wrong.');
    }
    const passwordHash = await this.passwords.hash(newPassword);
    await this.change.apply(
      atHome(caller),
      async () => {
        await this.users.users.update(tenantId, userId, { passwordHash });
        await this.sessions.endAllOf(tenantId, userId, caller.loginSessionId);
      },
      () => [{ action: 'password-change', target: 'user', id: userId }],
    );
  }
}
