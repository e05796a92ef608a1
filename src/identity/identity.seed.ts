import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database } from '../platform/database/index.js';
import { ClientRepository } from './client/client.repository.js';
import { secretDigest } from './client/client.service.js';
import { randomPassword } from './password/passwords.js';
import { HOME_TENANT } from './role/role.entity.js';
import { TenantRepository } from './tenant/tenant.repository.js';
import { TenantService } from './tenant/tenant.service.js';

export interface InitialLogin {
  readonly userName: string;
  readonly password: string;
}

const FIRST_USER = 'admin';

/** Settings of clients that read only `content` of a message. */
const CONTENT_ONLY = { inlineThinking: true, inlineSources: true, inlineFailures: true };

/** The clients of existing apps. Their ids and secrets are public and prove nothing. */
const CLIENTS = [
  {
    clientId: 'e5cd7e4891bf95d1d19206ce24a7b32e',
    clientKey: 'pc',
    secret: 'pc123',
    grantType: 'password,social',
    deviceType: 'pc',
    ...CONTENT_ONLY,
  },
  {
    clientId: '428a8310cd442757ae699df5d894f051',
    clientKey: 'app',
    secret: 'app123',
    grantType: 'password,sms,social',
    deviceType: 'android',
  },
  {
    clientId: '0d4c873ff6146ecd7f38e2e45526ab1b',
    clientKey: 'web',
    secret: 'web123',
    grantType: 'sms,email,password',
    deviceType: 'pc',
    ...CONTENT_ONLY,
  },
];

/**
 * Creates the first rows of an empty installation: the known clients, its own tenant and the first super administrator.
 * Later starts change nothing, so that what an operator deletes stays deleted.
 */
@Injectable()
export class IdentitySeed implements OnApplicationBootstrap {
  private generated: InitialLogin | undefined;

  constructor(
    private readonly database: Database,
    private readonly clients: ClientRepository,
    private readonly tenants: TenantRepository,
    private readonly tenantService: TenantService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.database.transaction(async () => {
      await this.tenants.lockSeed();
      if (await this.tenants.byTenantId(HOME_TENANT)) return;
      for (const { secret, ...client } of CLIENTS) {
        await this.clients.insert({ ...client, clientSecret: secretDigest(secret) });
      }
      const tenant = { tenantId: HOME_TENANT, companyName: 'Default' };
      await this.tenantService.provision(tenant, FIRST_USER, this.initialPassword());
    });
  }

  /** Returns the generated password of the first user once; undefined unless this start has created them with one. */
  takeInitialLogin(): InitialLogin | undefined {
    const login = this.generated;
    this.generated = undefined;
    return login;
  }

  /** ADMIN_PASSWORD, or a random one, kept until the start of the service shows it. */
  private initialPassword(): string {
    if (this.config.ADMIN_PASSWORD !== undefined) return this.config.ADMIN_PASSWORD;
    const password = randomPassword();
    this.generated = { userName: FIRST_USER, password };
    return password;
  }
}
