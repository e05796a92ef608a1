import { Inject, Injectable } from '@nestjs/common';
import { inHomeTenant } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import { attemptAt, Passwords } from '../password/passwords.js';
import { RoleRepository } from '../role/role.repository.js';
import { Avatars } from './avatars.js';
import type { OwnPasswordDto, ProfileDto } from './user.dto.js';
import { UserRepository } from './user.repository.js';
import { toUserView, viewFor } from './user.view.js';
import type { ProfileView, UserInfoView } from './user.view.js';

/** Reads and changes the caller's own account, always in their home tenant. */
@Injectable()
export class ProfileService {
  constructor(
    private readonly users: UserRepository,
    private readonly roles: RoleRepository,
    private readonly passwords: Passwords,
    private readonly logins: LoginSessionService,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
    private readonly avatars: Avatars,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The caller's account. Existing consoles read it with every page load, which ends a switch to another tenant. */
  async info(caller: Caller, keepTenant: boolean): Promise<UserInfoView> {
    const { tenantId, homeTenantId } = caller;
    if (tenantId !== homeTenantId && !keepTenant) await this.logins.switchTenant(caller, null);
    const { user, roles } = await this.ownAccount(caller);
    return {
      user: viewFor(caller, user, roles, await this.avatars.addresses()),
      permissions: [...caller.permissions],
      roles: [...caller.roleKeys],
      tenantId: keepTenant ? tenantId : homeTenantId,
      timeZone: this.config.TZ,
    };
  }

  async profile(caller: Caller): Promise<ProfileView> {
    const { user, roles } = await this.ownAccount(caller);
    return {
      user: toUserView(user, roles, 'shown', await this.avatars.addresses()),
      roleGroup: roles.map((role) => role.roleName).join(', '),
      postGroup: '',
    };
  }

  async update(caller: Caller, { nickName, email, phonenumber, sex }: ProfileDto): Promise<void> {
    const values = { nickName, email, phonenumber, sex };
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        const { homeTenantId: tenantId, userId } = caller;
        const before = await this.users.users.get(tenantId, userId);
        const isChosen = email !== undefined && email !== before.email;
        const chosen = isChosen && { chosenEmail: email };
        await this.users.users.update(tenantId, userId, { ...values, ...chosen });
      },
      () => [{ action: 'update', target: 'user', id: caller.userId }],
    );
  }

  /** Changes the password and ends all other sign-ins of the caller. */
  async changePassword(
    caller: Caller,
    { oldPassword, newPassword }: OwnPasswordDto,
    ip: string | undefined,
  ): Promise<void> {
    const { homeTenantId: tenantId, userId } = caller;
    if (!(await this.isPassword(caller, oldPassword, ip))) {
      throw new InvalidInputError(msg`The old password is wrong.`);
    }
    const passwordHash = await this.passwords.hash(newPassword);
    await this.change.apply(
      inHomeTenant(caller),
      async () => {
        await this.users.users.update(tenantId, userId, { passwordHash });
        await this.sessions.endAllOf(tenantId, userId, caller.loginSessionId);
      },
      () => [{ action: 'password-change', target: 'user', id: userId }],
    );
  }

  /** Checks the caller's password. Throws InvalidInputError for a wrong one, LoginRefusedError while the account is locked. */
  async requirePassword(caller: Caller, password: string, ip: string | undefined): Promise<void> {
    if (await this.isPassword(caller, password, ip)) return;
    throw new InvalidInputError(
      msg`The password is wrong. If you have none, ask an administrator to set one.`,
    );
  }

  private async isPassword(
    { homeTenantId: tenantId, userId }: Caller,
    password: string,
    ip: string | undefined,
  ): Promise<boolean> {
    const user = await inTenant(tenantId, () => this.users.users.get(tenantId, userId));
    return this.passwords.verify(attemptAt(user, ip), password);
  }

  private async ownAccount({ homeTenantId, userId }: Caller) {
    return inTenant(homeTenantId, async () => ({
      user: await this.users.users.get(homeTenantId, userId),
      roles: await this.roles.of(homeTenantId, userId),
    }));
  }
}
