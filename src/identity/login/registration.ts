import { Injectable } from '@nestjs/common';
import { inTenant } from '../../platform/database/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import { LoginRefusedError } from '../identity.errors.js';
import { USER_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { UserAccounts } from '../user/user.accounts.js';
import type { RegisterDto } from './login.dto.js';
import { LoginService } from './login.service.js';

const LIMIT = { name: 'register', points: 10, seconds: 60 };

/** How people make a user for themselves. */
@Injectable()
export class Registration {
  constructor(
    private readonly logins: LoginService,
    private readonly roles: RoleRepository,
    private readonly accounts: UserAccounts,
    private readonly limiter: RateLimiter,
  ) {}

  async register(given: RegisterDto, ip: string): Promise<void> {
    await this.limiter.consume(LIMIT, ip);
    const { tenant } = await this.logins.enter(given);
    if (!tenant.registerEnabled) {
      throw new LoginRefusedError('Registration is off here. Ask an administrator for a user.');
    }
    await inTenant(tenant.tenantId, () => this.createUser(tenant.tenantId, given));
  }

  private async createUser(tenantId: string, given: RegisterDto): Promise<void> {
    const role = await this.roles.byKey(tenantId, USER_ROLE);
    if (!role) {
      throw new LoginRefusedError(
        `Registration is not set up here: there is no role with the key ${USER_ROLE}. Ask an administrator.`,
      );
    }
    const { username: userName, password } = given;
    await this.accounts.create(
      { tenantId, userName },
      {
        userName,
        nickName: userName,
        password,
        ...(userName.includes('@') && { email: userName }),
        roleIds: [role.id],
      },
      'register',
    );
  }
}
