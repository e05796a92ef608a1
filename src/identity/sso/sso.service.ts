import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import { currentRequest, defined } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { ForbiddenAddressError, OutboundHttp } from '../../platform/outbound/index.js';
import { AccessChange } from '../access/access.change.js';
import { GroupRepository } from '../group/group.repository.js';
import { SUPERADMIN_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import { NO_PASSWORD, SERVICE_ACCOUNT } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { SsoDiagnosis } from './sso.diagnosis.js';
import type {
  ChangedSsoProviderDto,
  NewSsoProviderDto,
  SsoProviderListQuery,
  SsoSettingsDto,
} from './sso.dto.js';
import type { RoleMapping, SsoProvider } from './sso.entity.js';
import {
  IssuerInUseError,
  NoBreakGlassError,
  NoPasswordError,
  ScopesError,
  SecretForOtherIssuerError,
  SuperAdminMappingError,
} from './sso.errors.js';
import { SsoRepository } from './sso.repository.js';
import { SsoVault } from './sso.vault.js';
import { addressesOf, toSsoProviderView } from './sso.view.js';
import type {
  SsoDiagnosisView,
  SsoDraftView,
  SsoProviderView,
  SsoSettingsView,
} from './sso.view.js';

const DEFAULT_SCOPES = 'openid profile email';
const DISABLED = '1';
const PROVISION = 'system:scim:provision';

/** The providers of a tenant, and who signs in without them. */
@Injectable()
export class SsoService {
  constructor(
    private readonly rows: SsoRepository,
    private readonly vault: SsoVault,
    private readonly diagnosis: SsoDiagnosis,
    private readonly policy: UserAccessPolicy,
    private readonly roles: RoleRepository,
    private readonly tenants: TenantRepository,
    private readonly users: UserRepository,
    private readonly groups: GroupRepository,
    private readonly change: AccessChange,
    private readonly http: OutboundHttp,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(caller: Caller, query: SsoProviderListQuery): Promise<Page<SsoProviderView>> {
    const page = await this.rows.page(caller.tenantId, query);
    return page.map((provider) => toSsoProviderView(provider, this.base()));
  }

  async get(caller: Caller, id: number): Promise<SsoProviderView> {
    return toSsoProviderView(await this.rows.providers.get(caller.tenantId, id), this.base());
  }

  async test(caller: Caller, id: number): Promise<SsoDiagnosisView> {
    return this.diagnosis.test(await this.rows.providers.get(caller.tenantId, id), this.base());
  }

  async create(
    caller: Caller,
    { clientSecret, roleMapping: mapping, draft = randomUUID(), ...input }: NewSsoProviderDto,
  ): Promise<number> {
    const { tenantId } = caller;
    if (input.provisioned) requireProvisioning(caller);
    this.requireIssuer(input.issuer);
    const roleMapping = plain(mapping ?? []);
    const scopes = readScopes(input.scopes ?? DEFAULT_SCOPES);
    return this.change.apply(
      caller,
      async () => {
        await this.requireMappable(caller, roleMapping);
        const { id } = await this.rows.create(tenantId, {
          allowCreate: false,
          provisioned: false,
          status: '0',
          groupsClaim: null,
          ...defined(input),
          scopes,
          publicId: publicIdOf(tenantId, draft),
          roleMapping,
        });
        if (clientSecret) {
          const sealed = this.vault.seal(tenantId, 'sso_provider', id, clientSecret);
          await this.rows.providers.update(tenantId, id, { clientSecret: sealed });
        }
        return id;
      },
      (id) => [entry('create', id, { issuer: input.issuer, roleMapping })],
    );
  }

  async update(
    caller: Caller,
    { id, revision, clientSecret, roleMapping: mapping, scopes, ...input }: ChangedSsoProviderDto,
  ): Promise<void> {
    const { tenantId } = caller;
    const roleMapping = mapping ? plain(mapping) : undefined;
    const values = defined({
      ...input,
      roleMapping,
      scopes: scopes === undefined ? undefined : readScopes(scopes),
      clientSecret: clientSecret
        ? this.vault.seal(tenantId, 'sso_provider', id, clientSecret)
        : undefined,
    });
    await this.change.apply(
      caller,
      async () => {
        const current = () => this.get(caller, id);
        await this.rows.providers.requireRevision(tenantId, id, { expected: revision, current });
        const before = await this.rows.providers.get(tenantId, id);
        const isNewIssuer = input.issuer !== undefined && input.issuer !== before.issuer;
        if (before.provisioned ? isNewIssuer : input.provisioned) requireProvisioning(caller);
        await this.requireMappable(caller, roleMapping ?? before.roleMapping, before.roleMapping);
        await this.requireIssuerChange(before, input.issuer, clientSecret);
        await this.rows.providers.update(tenantId, id, values);
        // What another claim has said of groups does not count any more: sign-ins fill them again.
        const isNewClaim =
          input.groupsClaim !== undefined && input.groupsClaim !== before.groupsClaim;
        if (isNewClaim) await this.groups.endClaimed(tenantId, id, 'kept');
        if (input.status === DISABLED) await this.rows.endSessions(tenantId, id);
      },
      () => [
        entry('update', id, {
          fields: Object.keys(values),
          ...defined({ issuer: input.issuer, roleMapping, status: input.status }),
        }),
      ],
    );
  }

  /** Deletes the providers and their groups, and ends the sign-ins with them. Their users stay, without a way to sign in but others. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        for (const id of ids) {
          // A sign-in that is being opened holds the provider, and is ended here.
          await this.rows.providers.lock(tenantId, id);
          await this.rows.endSessions(tenantId, id);
          await this.groups.endClaimed(tenantId, id, 'deleted');
        }
        await this.rows.providers.remove(tenantId, ids);
      },
      () => ids.map((id) => entry('delete', id)),
    );
  }

  draft({ tenantId }: Caller): SsoDraftView {
    const draft = randomUUID();
    return { draft, ...addressesOf(this.base(), publicIdOf(tenantId, draft)) };
  }

  async settings({ tenantId }: Caller): Promise<SsoSettingsView> {
    const tenant = await this.tenants.byTenantId(tenantId);
    return {
      passwordLogin: tenant?.passwordLogin ?? true,
      breakGlassUsers: await this.rows.breakGlassUsers(tenantId),
      scimAddress: `${this.base()}/scim/v2`,
    };
  }

  async changeSettings(
    caller: Caller,
    { passwordLogin, breakGlassUserIds }: SsoSettingsDto,
  ): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        if (breakGlassUserIds) await this.replaceBreakGlass(caller, breakGlassUserIds);
        if (passwordLogin !== undefined) await this.rows.setPasswordLogin(tenantId, passwordLogin);
        if (!(await this.users.hasPasswordSignIn(tenantId, []))) throw new NoBreakGlassError();
      },
      () => [
        {
          action: 'update',
          target: 'sso_settings',
          detail: defined({ passwordLogin, breakGlassUserIds }),
        },
      ],
    );
  }

  /** The address of the API, from which the addresses that administrators enter at the provider are made. */
  private base(): string {
    return this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? '';
  }

  private async replaceBreakGlass(caller: Caller, userIds: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    const before = (await this.rows.breakGlassUsers(tenantId)).map(({ userId }) => userId);
    const changed = [
      ...before.filter((id) => !userIds.includes(id)),
      ...userIds.filter((id) => !before.includes(id)),
    ];
    const users = await this.policy.manageable(caller, [...new Set(changed)]);
    if (users.some(({ userType }) => userType === SERVICE_ACCOUNT)) throw new NoBreakGlassError();
    const useless = users.filter(
      ({ id, passwordHash }) => userIds.includes(id) && passwordHash === NO_PASSWORD,
    );
    if (useless.length > 0) throw new NoPasswordError(useless.map(({ userName }) => userName));
    await this.rows.setBreakGlass(tenantId, userIds);
  }

  /**
   * Requires the permissions of the roles that a mapping gives, as for giving them to a user. Deleted roles of the stored
   * mapping give nothing.
   */
  private async requireMappable(
    caller: Caller,
    mapping: readonly RoleMapping[],
    stored: readonly RoleMapping[] = [],
  ): Promise<void> {
    const ids = mapping.map(({ roleId }) => roleId);
    const existing = new Set((await this.roles.byIds(caller.tenantId, ids)).map(({ id }) => id));
    const mapped = new Set(stored.map(({ roleId }) => roleId));
    const roles = await this.policy.assignable(
      caller,
      ids.filter((id) => existing.has(id) || !mapped.has(id)),
    );
    if (roles.some(({ roleKey }) => roleKey === SUPERADMIN_ROLE)) {
      throw new SuperAdminMappingError();
    }
  }

  private requireIssuer(issuer: string): void {
    this.http.assertSecureAddress(issuer);
    if (new URL(issuer).search !== '') {
      throw ForbiddenAddressError.always(
        msg`query in the address`,
        msg`Remove the ? and what follows.`,
      );
    }
  }

  private async requireIssuerChange(
    before: SsoProvider,
    issuer: string | undefined,
    clientSecret: string | undefined,
  ): Promise<void> {
    if (issuer === undefined || issuer === before.issuer) return;
    this.requireIssuer(issuer);
    const { tenantId, id: providerId } = before;
    if ((await this.rows.identities.count(tenantId, { providerId })) > 0) {
      throw new IssuerInUseError();
    }
    if (before.clientSecret !== null && !clientSecret) throw new SecretForOtherIssuerError();
  }
}

/** Throws ForbiddenError unless the caller may decide which issuer signs provisioned users in. */
function requireProvisioning(caller: Caller): void {
  if (mayAny(caller, [PROVISION])) return;
  throw new ForbiddenError(
    msg`You also need the permission ${PROVISION}. Ask an administrator for it.`,
  );
}

function readScopes(input: string): string {
  const scopes = [...new Set(input.split(/\s+/).filter((scope) => scope !== ''))];
  if (!scopes.includes('openid')) throw new ScopesError();
  return scopes.join(' ');
}

function plain(mapping: readonly RoleMapping[]): RoleMapping[] {
  return mapping.map(({ value, roleId }) => ({ value, roleId }));
}

function entry(
  action: AuditRecord['action'],
  id: number,
  detail: Readonly<Record<string, unknown>> = {},
): AuditRecord {
  return { action, target: 'sso_provider', id, detail };
}

/** A version 8 UUID (RFC 9562). With the tenant in its digest no tenant can choose the addresses of another one. */
function publicIdOf(tenantId: string, draft: string): string {
  const hex = createHash('sha256').update(`${tenantId}:${draft}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
