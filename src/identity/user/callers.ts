import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import {
  ALL_PERMISSIONS,
  CallerResolver,
  NOTHING_INLINE,
  permissionsOf,
  TenantRevision,
} from '../../platform/access/index.js';
import type { Caller, SignIn, TokenClaims } from '../../platform/access/index.js';
import { inTenant, isOutage } from '../../platform/database/index.js';
import { HOME_TENANT, SUPERADMIN_ROLE } from '../role/role.entity.js';
import { UserRepository } from './user.repository.js';
import type { ActiveRole } from './user.repository.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import type { SignInKey } from '../login-session/login-session.repository.js';

/** A user and the tenant they work in. */
export interface UserInTenant {
  readonly userId: number;
  /** The tenant that the user belongs to. */
  readonly homeTenantId: string;
  readonly tenantId: string;
}

type Grants = Pick<Caller, 'permissions' | 'roleKeys' | 'subjects'>;

const ALL: Omit<Grants, 'subjects'> = {
  permissions: new Set([ALL_PERMISSIONS]),
  roleKeys: [SUPERADMIN_ROLE],
};

const MAX_CACHED_USER_COUNT = 10_000;
/** Limit of the subjects of all cached users together, about 20 MB. */
const MAX_CACHED_SUBJECT_COUNT = 500_000;

/** In place of a sign-in in callers that `UserCallers` makes. */
const NO_SIGN_IN = 'job';

/** Creates callers from users, for jobs and commands, which have no sign-in. */
@Injectable()
export class UserCallers {
  private readonly grants = new LRUCache<number, Grants & { readonly revision: number }>({
    max: MAX_CACHED_USER_COUNT,
    maxSize: MAX_CACHED_SUBJECT_COUNT,
    sizeCalculation: ({ subjects }) => subjects.length,
  });

  constructor(
    private readonly users: UserRepository,
    private readonly revision: TenantRevision,
  ) {}

  /**
   * The user as a caller, as of now. Undefined if the user is deleted or disabled, one of the tenants is disabled or has expired,
   * or the user may not work in the tenant: only super administrators may work in another tenant than their own.
   */
  async find(who: UserInTenant): Promise<Caller | undefined> {
    return inTenant(who.homeTenantId, () => this.current(who));
  }

  /** Like `find`, by the user's name; the user belongs to the tenant, or to another one as a super administrator. */
  async named(
    userName: string,
    homeTenantId: string,
    tenantId: string,
  ): Promise<Caller | undefined> {
    const user = await inTenant(homeTenantId, () => this.users.byName(homeTenantId, userName));
    return user ? this.find({ userId: user.id, homeTenantId, tenantId }) : undefined;
  }

  /** Like `find`, if it is not known whether the user belongs to the tenant, or works in it as a super administrator. */
  async working({
    userId,
    tenantId,
  }: Omit<UserInTenant, 'homeTenantId'>): Promise<Caller | undefined> {
    const ofTenant = await this.find({ userId, homeTenantId: tenantId, tenantId });
    if (ofTenant !== undefined || tenantId === HOME_TENANT) return ofTenant;
    return this.find({ userId, homeTenantId: HOME_TENANT, tenantId });
  }

  private async current({
    userId,
    homeTenantId,
    tenantId,
  }: UserInTenant): Promise<Caller | undefined> {
    const user = await this.users.active(homeTenantId, userId);
    if (!user) return undefined;
    const homeRevision = await this.revision.current(homeTenantId);
    const grants = await this.grantsOf({ tenantId: homeTenantId, userId }, homeRevision);
    const elsewhere = tenantId !== homeTenantId;
    if (elsewhere && !grants.permissions.has(ALL_PERMISSIONS)) return undefined;
    return {
      tenantId,
      homeTenantId,
      userId,
      userName: user.userName,
      clientId: 'job',
      origin: 'job',
      inline: NOTHING_INLINE,
      loginSessionId: NO_SIGN_IN,
      permissions: grants.permissions,
      roleKeys: grants.roleKeys,
      subjects: grants.subjects,
      revision: elsewhere ? await this.revision.current(tenantId) : homeRevision,
    };
  }

  /**
   * The permissions of a user's enabled roles and the subjects of the user, cached until the revision of their tenant changes.
   * `tenantId` and `revision` are those of the tenant that the user belongs to.
   */
  async grantsOf(
    { tenantId, userId }: { readonly tenantId: string; readonly userId: number },
    revision: number,
  ): Promise<Grants> {
    const cached = this.grants.get(userId);
    if (cached?.revision === revision) return cached;
    const { roles, groupIds } = await this.users.rightsOf(tenantId, userId);
    const superAdmin =
      tenantId === HOME_TENANT && roles.some((role) => role.roleKey === SUPERADMIN_ROLE);
    const subjects = [
      'tenant',
      `user:${userId}`,
      ...roles.map(({ roleId }) => `role:${roleId}`),
      ...groupIds.map((groupId) => `group:${groupId}`),
    ];
    const grants = { ...(superAdmin ? ALL : permissionsBy(roles)), subjects };
    this.grants.set(userId, { ...grants, revision });
    return grants;
  }
}

function permissionsBy(roles: readonly ActiveRole[]): Omit<Grants, 'subjects'> {
  const granted = roles.flatMap((role) => role.permissions);
  const permissions = new Set(granted.flatMap(permissionsOf));
  permissions.delete(ALL_PERMISSIONS);
  return { permissions, roleKeys: roles.map((role) => role.roleKey) };
}

/**
 * Resolves callers from the database with one statement per request. Permissions are read again only after the revision
 * of the tenant has changed.
 */
@Injectable()
export class SessionCallerResolver extends CallerResolver implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SessionCallerResolver.name);
  private readonly renewals = new Map<string, Promise<void>>();

  constructor(
    private readonly sessions: LoginSessionRepository,
    private readonly users: UserCallers,
  ) {
    super();
  }

  override async resolve(claims: TokenClaims): Promise<Caller | undefined> {
    const { sid: id, tenantId, userId, clientid: clientId, exp } = claims;
    const key = { id, tenantId, userId, clientId };
    const session = await inTenant(tenantId, () => this.current(key, exp * 1_000));
    if (session?.renewalDue) inTenant(tenantId, () => this.renew(tenantId, id));
    return session?.caller;
  }

  override async refresh(signIn: SignIn): Promise<Caller | undefined> {
    const { loginSessionId: id, homeTenantId: tenantId, userId, clientId, validUntil } = signIn;
    if (id === NO_SIGN_IN) return this.users.find(signIn);
    const key = { id, tenantId, userId, clientId };
    const session = await inTenant(tenantId, () => this.current(key, validUntil));
    return session && { ...session.caller, origin: signIn.origin };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.renewals.values());
  }

  private async current(
    key: SignInKey,
    validUntil: number | undefined,
  ): Promise<{ caller: Caller; renewalDue: boolean } | undefined> {
    const state = await this.sessions.state(key);
    if (!state) return undefined;
    const { permissions, roleKeys, subjects } = await this.users.grantsOf(key, state.homeRevision);
    const acting = permissions.has(ALL_PERMISSIONS) ? state.actingTenantId : null;
    const caller: Caller = {
      tenantId: acting ?? key.tenantId,
      homeTenantId: key.tenantId,
      userId: key.userId,
      userName: state.userName,
      clientId: key.clientId,
      // JwtStrategy knows the request.
      origin: 'rest',
      inline: {
        thinking: state.inlineThinking,
        sources: state.inlineSources,
        failures: state.inlineFailures,
      },
      loginSessionId: key.id,
      permissions,
      roleKeys,
      subjects,
      revision: (acting === null ? null : state.actingRevision) ?? state.homeRevision,
      validUntil,
    };
    return { caller, renewalDue: state.renewalDue };
  }

  /** Records the activity. The request does not wait for it, and each sign-in has one write at a time. */
  private renew(tenantId: string, id: string): void {
    if (this.renewals.has(id)) return;
    const renewal = this.sessions
      .renew(tenantId, id)
      .catch((error: unknown) => {
        // The next request tries again.
        if (isOutage(error)) return;
        this.logger.warn({ msg: 'Failed to record last activity', err: error });
      })
      .finally(() => this.renewals.delete(id));
    this.renewals.set(id, renewal);
  }
}
