import { Injectable } from '@nestjs/common';
import { inTenant } from '../../platform/database/index.js';
import type { Client } from '../client/client.entity.js';
import { ClientRepository } from '../client/client.repository.js';
import { LoginRefusedError } from '../identity.errors.js';
import { SignInService } from '../sign-in/sign-in.service.js';
import type { SignInOrigin } from '../sign-in/sign-in.service.js';
import { HOME_TENANT, tenantProblem } from '../tenant/tenant.entity.js';
import type { Tenant } from '../tenant/tenant.entity.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { Captcha } from './captcha.js';
import type { LoginDto, RegisterDto } from './login.dto.js';
import type { LoginView } from './login.view.js';
import { PasswordLogin } from './password.login.js';

/** The client and the tenant that a sign-in or registration is for. */
export interface Doorway {
  readonly client: Client;
  readonly tenant: Tenant;
}

@Injectable()
export class LoginService {
  constructor(
    private readonly clients: ClientRepository,
    private readonly tenants: TenantRepository,
    private readonly captcha: Captcha,
    private readonly passwords: PasswordLogin,
    private readonly signIns: SignInService,
  ) {}

  async signIn(login: LoginDto, origin: SignInOrigin): Promise<LoginView> {
    const { client, tenant } = await this.enter(login);
    const { token, seconds } = await inTenant(tenant.tenantId, async () => {
      const user = await this.passwords.authenticate(tenant.tenantId, login);
      return this.signIns.open(user, client, origin);
    });
    return {
      access_token: token,
      refresh_token: null,
      expire_in: seconds,
      refresh_expire_in: null,
      client_id: client.clientId,
      scope: null,
      openid: null,
    };
  }

  /** What is checked before anything is said about a user. LoginRefusedError says what does not hold. */
  async enter(given: LoginDto | RegisterDto): Promise<Doorway> {
    const client = await this.clients.byClientId(given.clientId);
    if (!client?.grantType.split(',').includes(given.grantType)) {
      throw new LoginRefusedError(
        `This client may not sign in with the grant type ${given.grantType}.`,
      );
    }
    if (client.status !== '0') {
      throw new LoginRefusedError('This client is disabled. Ask the operator of this service.');
    }
    const tenant = await this.openTenant(given.tenantId?.trim() || HOME_TENANT);
    if (given.grantType !== 'password') {
      throw new LoginRefusedError('Only the grant type password is supported here.');
    }
    await this.captcha.verify(given.uuid, given.code);
    return { client, tenant };
  }

  private async openTenant(tenantId: string): Promise<Tenant> {
    const tenant = await this.tenants.byTenantId(tenantId);
    if (!tenant) {
      throw new LoginRefusedError(
        'This tenant does not exist. Check the tenant id, or ask your administrator.',
      );
    }
    const problem = tenantProblem(tenant, new Date());
    if (problem !== undefined) throw new LoginRefusedError(problem);
    return tenant;
  }
}
