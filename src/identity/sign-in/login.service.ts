import { Inject, Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { RateLimiter } from '../../platform/event/index.js';
import type { RateLimit } from '../../platform/event/index.js';
import { clientNetwork, clientSoftware } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { Client } from '../client/client.entity.js';
import { ClientRepository } from '../client/client.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import type { SignInOrigin } from '../login-session/login-session.service.js';
import {
  accountOf,
  LoginRefusedError,
  Passwords,
  WrongPasswordError,
} from '../password/passwords.js';
import { HOME_TENANT, USER_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import type {
  ConfirmationDto,
  EnrolmentDto,
  EnrolmentView,
  SecondStepDto,
} from '../second-factor/second-factor.dto.js';
import { SecondFactorRepository } from '../second-factor/second-factor.repository.js';
import type { FactorState } from '../second-factor/second-factor.repository.js';
import { tenantProblem } from '../tenant/tenant.entity.js';
import type { Tenant } from '../tenant/tenant.entity.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import { SERVICE_ACCOUNT } from '../user/user.entity.js';
import type { User } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { UserService } from '../user/user.service.js';
import { Captcha } from './captcha.js';
import { toLoginView } from './login.dto.js';
import type {
  EnrolledLoginView,
  LoginDto,
  LoginView,
  RegisterDto,
  TenantChoicesView,
} from './login.dto.js';
import { SecondStep } from './second-step.service.js';

const REGISTRATION_LIMIT = { name: 'register', points: 10, seconds: 60 };
const CHOICES_LIMIT = { name: 'tenant-choices', points: 20, seconds: 60 };

class PasswordLoginError extends LoginRefusedError {
  constructor() {
    super(
      msg`This tenant has turned password sign-in off. Sign in with one of its providers instead.`,
    );
  }
}

/** Signs users in by their password, lets people register, and offers the tenants to choose from. */
@Injectable()
export class LoginService {
  private readonly attempts: RateLimit;

  constructor(
    private readonly clients: ClientRepository,
    private readonly tenants: TenantRepository,
    private readonly roles: RoleRepository,
    private readonly users: UserRepository,
    private readonly accounts: UserService,
    private readonly policy: UserAccessPolicy,
    private readonly passwords: Passwords,
    private readonly captcha: Captcha,
    private readonly sessions: LoginSessionService,
    private readonly factors: SecondFactorRepository,
    private readonly secondStep: SecondStep,
    private readonly audit: AuditLog,
    private readonly limiter: RateLimiter,
    @Inject(CONFIG) config: Config,
  ) {
    const points = config.LOGIN_ATTEMPTS_PER_MINUTE;
    this.attempts = { name: 'login-attempts', points, seconds: 60 };
  }

  async signIn(login: LoginDto, origin: SignInOrigin): Promise<LoginView> {
    await this.limiter.consume(this.attempts, clientNetwork(origin.ip));
    const { client, tenant } = await this.admit(login);
    const { token } = await inTenant(tenant.tenantId, async () => {
      const { user, factors } = await this.authenticate(tenant, login, client.clientKey, origin);
      await this.secondStep.requireNone(user, client, factors);
      return this.sessions.open(user, client, origin);
    });
    return toLoginView(token, client);
  }

  async prove(step: SecondStepDto, origin: SignInOrigin): Promise<LoginView> {
    await this.limiter.consume(this.attempts, clientNetwork(origin.ip));
    return this.secondStep.signIn(step, origin);
  }

  async enrol(enrolment: EnrolmentDto, origin: SignInOrigin): Promise<EnrolmentView> {
    await this.limiter.consume(this.attempts, clientNetwork(origin.ip));
    return this.secondStep.enrol(enrolment);
  }

  async confirm(confirmation: ConfirmationDto, origin: SignInOrigin): Promise<EnrolledLoginView> {
    await this.limiter.consume(this.attempts, clientNetwork(origin.ip));
    return this.secondStep.confirm(confirmation, origin);
  }

  /** The tenants to choose from: all for a super administrator, otherwise those with the domain of the page, or all that allow sign-ins. */
  async tenantChoices(
    caller: Caller | undefined,
    referer: string | undefined,
    ip: string,
  ): Promise<TenantChoicesView> {
    await this.limiter.consume(CHOICES_LIMIT, clientNetwork(ip));
    const all = await this.tenants.all();
    const now = new Date();
    const open = all.filter((tenant) => tenantProblem(tenant, now) === undefined);
    const host = hostOf(referer);
    const domainTenants = open.filter(
      (tenant) => tenant.domain && tenant.domain.toLowerCase() === host,
    );
    const choices =
      caller && isSuperAdmin(caller) ? all : domainTenants.length > 0 ? domainTenants : open;
    return {
      tenantEnabled: true,
      voList: choices.map(({ tenantId, companyName, domain }) => ({
        tenantId,
        companyName,
        domain,
      })),
    };
  }

  async register(input: RegisterDto, ip: string): Promise<void> {
    await this.limiter.consume(REGISTRATION_LIMIT, clientNetwork(ip));
    const { tenant } = await this.admit(input);
    if (!tenant.registerEnabled || !tenant.passwordLogin) {
      throw new LoginRefusedError(
        msg`Registration is disabled here. Ask an administrator for an account.`,
      );
    }
    await inTenant(tenant.tenantId, () => this.createUser(tenant.tenantId, input));
  }

  private async createUser(tenantId: string, input: RegisterDto): Promise<void> {
    const role = await this.roles.byKey(tenantId, USER_ROLE);
    if (!role) {
      throw new LoginRefusedError(
        msg`Registration is not set up here: there is no role with the key ${USER_ROLE}. Ask an administrator.`,
      );
    }
    const { username: userName, password } = input;
    await this.accounts.createAccount(
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

  /** Checks client, tenant and captcha before any user is looked up. LoginRefusedError says what is wrong. */
  private async admit(
    input: LoginDto | RegisterDto,
  ): Promise<{ readonly client: Client; readonly tenant: Tenant }> {
    const client = await this.clients.byClientId(input.clientId);
    if (!client?.grantType.split(',').includes(input.grantType)) {
      throw new LoginRefusedError(
        msg`This client may not sign in with the grant type ${input.grantType}.`,
      );
    }
    if (client.status !== '0') {
      throw new LoginRefusedError(msg`This client is disabled. Ask the operator of this service.`);
    }
    const tenant = await this.openTenant(input.tenantId?.trim() || HOME_TENANT);
    if (input.grantType !== 'password') {
      throw new LoginRefusedError(msg`Only the grant type password is supported here.`);
    }
    await this.captcha.verify(input.uuid, input.code);
    return { client, tenant };
  }

  private async openTenant(tenantId: string): Promise<Tenant> {
    const tenant = await this.tenants.byTenantId(tenantId);
    if (!tenant) {
      throw new LoginRefusedError(
        msg`This tenant does not exist. Check the tenant id, or ask your administrator.`,
      );
    }
    const problem = tenantProblem(tenant, new Date());
    if (problem !== undefined) throw new LoginRefusedError(problem);
    return tenant;
  }

  /**
   * Unknown and disabled users and service accounts are refused with the same message and in the same time as a wrong
   * password. The state of second factors is read for every name, and only a right password reveals it.
   */
  private async authenticate(
    tenant: Tenant,
    { username, password }: LoginDto,
    clientKey: string,
    origin: SignInOrigin,
  ): Promise<{ readonly user: User; readonly factors: FactorState }> {
    const { tenantId } = tenant;
    if (!username || !password) {
      throw new InvalidInputError(msg`username and password are required to sign in.`);
    }
    const user = await this.users.byName(tenantId, username);
    const canSignIn = user?.status === '0' && user.userType !== SERVICE_ACCOUNT;
    const enabled = canSignIn ? user : undefined;
    const factors = await this.factors.state(tenantId, user?.id ?? 0);
    const attempt = {
      account: accountOf(tenantId, user, await this.users.foldedName(username)),
      passwordHash: enabled?.passwordHash,
      ip: origin.ip,
      lastIp: user?.loginIp,
      isFirstOfTwo: factors.kinds.length > 0,
    };
    const right = await this.passwords.verify(attempt, password);
    // This comes last, so that only a caller who knows the password learns whether it may be used.
    const refused = right && enabled && !(await this.policy.mayUsePassword(tenant, enabled));
    if (right && enabled && !refused) return { user: enabled, factors };
    await this.audit.record(
      { tenantId, userName: username },
      {
        action: 'login-failed',
        target: 'user',
        detail: {
          clientKey,
          ...(refused && { reason: 'password-login' }),
          ...clientSoftware(origin.userAgent),
        },
      },
    );
    throw refused ? new PasswordLoginError() : new WrongPasswordError();
  }
}

function hostOf(address: string | undefined): string | undefined {
  return address && URL.canParse(address) ? new URL(address).hostname : undefined;
}
