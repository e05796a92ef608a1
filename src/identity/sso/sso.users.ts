import { Injectable, Logger } from '@nestjs/common';
import type { AuditRecord } from '../../platform/audit/index.js';
import { inTenant } from '../../platform/database/index.js';
import { ConflictError } from '../../platform/error/index.js';
import { AccessChange } from '../access/access.change.js';
import { GroupRepository } from '../group/group.repository.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { HOME_TENANT, SUPERADMIN_ROLE } from '../role/role.entity.js';
import { RoleRepository } from '../role/role.repository.js';
import { ScimRepository } from '../scim/scim.repository.js';
import { NO_PASSWORD } from '../user/user.entity.js';
import type { User } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { UserService } from '../user/user.service.js';
import {
  directoryIds,
  groupsIn,
  hasClaim,
  mappedRoles,
  MAX_USER_GROUPS,
  numbered,
  rolesAfter,
  textClaim,
  userNameOf,
} from './claims.js';
import type { Claims } from './claims.js';
import type { RoleMapping, SsoIdentity, SsoProvider } from './sso.entity.js';
import { SsoRefusedError } from './sso.errors.js';
import type { Connecting } from './sso.flows.js';
import { SsoRepository } from './sso.repository.js';
import type { DueIdentity } from './sso.repository.js';
import { SsoVault } from './sso.vault.js';

const ENABLED = '0';
const MAX_NAME_CHARS = 64;
const MAX_EMAIL_CHARS = 100;

/** The statements of a provider about a user who signs in. */
interface Vouched {
  readonly claims: Claims;
  readonly subject: string;
  readonly tokens: { readonly refresh_token?: string | undefined };
  /** The user has groups that the provider does not list. */
  readonly isOverage: boolean;
}

/** The data from which a sign-in changes a user. */
interface SignInContext {
  readonly provider: SsoProvider;
  readonly vouched: Vouched;
  /** The mapping without roles that no longer exist. */
  readonly mapping: readonly RoleMapping[];
  /** The roles that the mapping gives for the claims. */
  readonly mappedRoles: readonly number[];
  /** The groups that the claims name; undefined where they are unknown or too many. */
  readonly groups: readonly string[] | undefined;
}

/** The users of providers: found by provider and subject alone, created, given roles and groups, and suspended. */
@Injectable()
export class SsoUsers {
  private readonly logger = new Logger(SsoUsers.name);

  constructor(
    private readonly rows: SsoRepository,
    private readonly users: UserRepository,
    private readonly accounts: UserService,
    private readonly roles: RoleRepository,
    private readonly sessions: LoginSessionRepository,
    private readonly change: AccessChange,
    private readonly vault: SsoVault,
    private readonly provisioned: ScimRepository,
    private readonly groups: GroupRepository,
  ) {}

  /** Creates or updates the user from the claims. Throws SsoRefusedError if the user is disabled or unknown or exceeds the limit of users. */
  async signedIn(
    provider: SsoProvider,
    vouched: Vouched,
  ): Promise<{ readonly identityId: number; readonly userId: number }> {
    const { tenantId, id: providerId } = provider;
    const context = await this.contextOf(provider, vouched);
    const existing = await this.rows.bySubject(tenantId, providerId, vouched.subject);
    const identity =
      existing && (await this.isCurrent(existing, context))
        ? existing
        : await this.applied(context, existing);
    await this.keepToken(identity, vouched);
    return { identityId: identity.id, userId: identity.userId };
  }

  /**
   * Connects a signed-in user with the person at the provider, who signs in as this user from now on. Adds the roles that the
   * mapping gives and takes none: that is left to the next sign-in there. SsoRefusedError where either is connected with
   * another one, and where the sign-in that has begun it has ended.
   */
  async connect(
    provider: SsoProvider,
    vouched: Vouched,
    { userId, loginSessionId }: Connecting,
  ): Promise<void> {
    const { tenantId, id: providerId } = provider;
    const context = { ...(await this.contextOf(provider, vouched)), mapping: [] };
    const user = await this.users.users.findOne(tenantId, { id: userId, status: ENABLED });
    if (!user) throw new SsoRefusedError('disabled');
    const { identity } = await this.change.apply(
      { tenantId, userId, userName: user.userName },
      async () => {
        const isOpen = await this.sessions.isOpen(tenantId, loginSessionId, userId);
        if (!isOpen) throw new SsoRefusedError('signed-out');
        const connected = await this.rows.bySubject(tenantId, providerId, vouched.subject);
        if (connected && connected.userId !== userId) throw new SsoRefusedError('other-user');
        const ofUser = await this.rows.identities.findOne(tenantId, { providerId, userId });
        if (ofUser && ofUser.id !== connected?.id) throw new SsoRefusedError('other-account');
        const { subject } = vouched;
        const identity =
          connected ??
          (await this.rows.identities.insert(tenantId, { providerId, userId, subject }));
        const detail = { ssoProvider: providerId, connected: true };
        const connection = { action: 'update', target: 'user', id: userId, detail } as const;
        return { identity, entries: [connection, ...(await this.update(identity, context))] };
      },
      ({ entries }) => entries,
    );
    await this.keepToken(identity, vouched);
  }

  /**
   * Disables a user whom the provider refuses, until they sign in there again. Break-glass users and the last super
   * administrator only lose the sign-ins. Changes nothing if a sign-in has brought another token since the check began, and
   * leaves a user alone whom an administrator has disabled meanwhile.
   */
  async suspend(due: DueIdentity): Promise<void> {
    const { tenantId, id, userId, providerId, refreshToken } = due;
    await this.change.apply(
      { tenantId },
      async () => {
        const identity = await this.rows.identities.findOne(tenantId, { id });
        if (identity?.refreshToken !== refreshToken) return [];
        await this.rows.keepToken(tenantId, id, null);
        const user = await this.users.users.get(tenantId, userId);
        if (user.status !== ENABLED) return [];
        const status = (await this.mustKeepAccess(user)) ? ENABLED : '1';
        if (status !== ENABLED) {
          await this.users.users.update(tenantId, userId, { status, suspended: true });
        }
        // This comes last: a sign-in that is being opened either sees the new status or is deleted here.
        await this.sessions.endAllOf(tenantId, userId);
        const detail = { status, ssoProvider: providerId, reason: 'refused-by-provider' };
        return [{ action: 'status-change', target: 'user', id: userId, detail }] as const;
      },
      (entries) => entries,
    );
  }

  /**
   * Sets the groups of a user who is checked at the provider, if the id token that came with the new tokens has their claim.
   * Roles follow at the next sign-in.
   */
  async refreshGroups(provider: SsoProvider, due: DueIdentity, claims: Claims): Promise<void> {
    const { tenantId, id, userId } = due;
    const { groupsClaim } = provider;
    if (groupsClaim === null || !hasClaim(claims, groupsClaim)) return;
    const groups = this.groupsOf(provider, { claims, isOverage: false });
    if (await this.hasGroups(provider, userId, groups)) return;
    await this.change.apply(
      { tenantId },
      async () => {
        const identity = await this.rows.identities.findOne(tenantId, { id });
        return identity?.subject === claims['sub'] ? this.setGroups(provider, userId, groups) : [];
      },
      (entries) => entries,
    );
  }

  /** Ends the login sessions of a subject or session at the provider, after which its token may be worthless. */
  async endSessions(
    provider: SsoProvider,
    of: { readonly subject?: string | undefined; readonly sid?: string | undefined },
  ): Promise<void> {
    const { tenantId, id: ssoProvider } = provider;
    await inTenant(tenantId, () =>
      this.change.apply(
        { tenantId },
        async () => {
          const ended = await this.rows.endSessions(tenantId, ssoProvider, of);
          for (const { identityId } of ended) await this.leave(provider, identityId);
          return ended;
        },
        (ended) =>
          ended.map(({ userId: id }) => ({
            action: 'revoke',
            target: 'user',
            id,
            detail: { ssoProvider },
          })),
      ),
    );
  }

  /**
   * The session at the provider has ended, and with it the refresh token, unless that was given for offline access (OpenID
   * Connect Back-Channel Logout 1.0, 2.7): its refusal would say nothing of the user any more.
   */
  async leave({ tenantId, scopes }: SsoProvider, identityId: number): Promise<void> {
    if (scopes.split(' ').includes('offline_access')) return;
    await this.rows.keepToken(tenantId, identityId, null);
  }

  /** Whether the provider cannot disable the user, because the tenant or the installation could be without access then. */
  private async mustKeepAccess({ tenantId, id, breakGlass }: User): Promise<boolean> {
    if (breakGlass) return true;
    return tenantId === HOME_TENANT && (await this.roles.countSuperAdmins(tenantId, [id])) === 0;
  }

  private async contextOf(provider: SsoProvider, vouched: Vouched): Promise<SignInContext> {
    const mapping = await this.usableMapping(provider);
    return {
      provider,
      vouched,
      mapping,
      mappedRoles: mappedRoles(mapping, vouched.claims, provider.groupsClaim),
      groups: this.groupsOf(provider, vouched),
    };
  }

  /** A list that is unknown or too long gives no group and takes none. */
  private groupsOf(
    { tenantId: tenant, id: provider, groupsClaim }: SsoProvider,
    { claims, isOverage }: Pick<Vouched, 'claims' | 'isOverage'>,
  ): readonly string[] | undefined {
    if (isOverage) return undefined;
    const groups = groupsIn(claims, groupsClaim);
    if (groups.length <= MAX_USER_GROUPS) return groups;
    const count = groups.length;
    this.logger.warn({
      msg: 'Groups of a user ignored, because they are too many',
      tenant,
      provider,
      count,
    });
    return undefined;
  }

  /** Whether the claim has put the user into exactly these groups already. */
  private async hasGroups(
    { tenantId, id }: SsoProvider,
    userId: number,
    groups: readonly string[] | undefined,
  ): Promise<boolean> {
    if (groups === undefined) return true;
    const current = await this.groups.claimedOf(tenantId, id, userId);
    return current.size === groups.length && groups.every((value) => current.has(value));
  }

  /** Puts the user into exactly these groups of the provider, inside an access change. Returns the audit entries. */
  private async setGroups(
    { tenantId, id: ssoProvider }: SsoProvider,
    userId: number,
    groups: readonly string[] | undefined,
  ): Promise<AuditRecord[]> {
    if (groups === undefined) return [];
    const before = [...(await this.groups.claimedOf(tenantId, ssoProvider, userId)).values()];
    const after = await this.groups.ensureClaimed(tenantId, ssoProvider, groups);
    const joinedGroups = after.filter((id) => !before.includes(id));
    const leftGroups = before.filter((id) => !after.includes(id));
    if (joinedGroups.length + leftGroups.length === 0) return [];
    await this.groups.removeMembers(tenantId, leftGroups, [userId]);
    await this.groups.addMembers(tenantId, joinedGroups, [userId]);
    const detail = { joinedGroups, leftGroups, ssoProvider };
    return [{ action: 'permission-change', target: 'user', id: userId, detail }];
  }

  private async keepToken({ tenantId, id }: SsoIdentity, { tokens }: Vouched): Promise<void> {
    const { refresh_token: token } = tokens;
    const sealed = token ? this.vault.seal(tenantId, 'sso_identity', id, token) : null;
    await this.rows.keepToken(tenantId, id, sealed);
  }

  private async usableMapping({ tenantId, roleMapping }: SsoProvider): Promise<RoleMapping[]> {
    const ids = [...new Set(roleMapping.map(({ roleId }) => roleId))];
    const roles = ids.length === 0 ? [] : await this.roles.byIds(tenantId, ids);
    const usable = roles.filter(({ roleKey }) => roleKey !== SUPERADMIN_ROLE).map(({ id }) => id);
    return roleMapping.filter(({ roleId }) => usable.includes(roleId));
  }

  /** Whether the user is enabled and has the roles and groups already: most sign-ins change nothing. */
  private async isCurrent(
    { tenantId, userId, groupsOverage }: SsoIdentity,
    context: SignInContext,
  ): Promise<boolean> {
    if (groupsOverage !== context.vouched.isOverage) return false;
    if (!(await this.hasGroups(context.provider, userId, context.groups))) return false;
    const user = await this.users.users.get(tenantId, userId);
    return user.status === ENABLED && (await this.newRoles(user, context)) === undefined;
  }

  private async applied(
    context: SignInContext,
    existing: SsoIdentity | null,
  ): Promise<SsoIdentity> {
    const { provider, vouched } = context;
    const { tenantId, id: providerId } = provider;
    const provisionedUserId = existing ? undefined : await this.findProvisionedUser(context);
    const isNew = !existing && provisionedUserId === undefined;
    if (isNew && !provider.allowCreate) throw new SsoRefusedError('unknown-user');
    const { identity } = await this.change.apply(
      { tenantId, userName: userNameOf(vouched.claims, vouched.subject) },
      async () => {
        const identity =
          (await this.rows.bySubject(tenantId, providerId, vouched.subject)) ??
          (await this.linked(context)) ??
          (await this.create(context, isNew));
        return { identity, entries: await this.update(identity, context) };
      },
      ({ entries }) => entries,
    );
    return identity;
  }

  /** The user whom SCIM has created for the person, and who has never signed in. */
  private async findProvisionedUser({
    provider,
    vouched,
  }: SignInContext): Promise<number | undefined> {
    if (!provider.provisioned) return undefined;
    const ids = directoryIds(provider.issuer, vouched.claims, vouched.subject);
    return this.provisioned.findProvisionedUser(provider.tenantId, ids);
  }

  private async linked(context: SignInContext): Promise<SsoIdentity | undefined> {
    const { tenantId, id: providerId } = context.provider;
    const userId = await this.findProvisionedUser(context);
    if (userId === undefined) return undefined;
    const { subject } = context.vouched;
    return this.rows.identities.insert(tenantId, { providerId, userId, subject });
  }

  private async create({ provider, vouched }: SignInContext, isNew: boolean): Promise<SsoIdentity> {
    const { tenantId, id: providerId } = provider;
    const { claims, subject } = vouched;
    // The user who was there before the transaction has been deleted meanwhile.
    if (!isNew) throw new SsoRefusedError('unknown-user');
    const userName = await this.freeName(tenantId, userNameOf(claims, subject));
    const email = textClaim(claims, 'email', MAX_EMAIL_CHARS);
    const nickName = textClaim(claims, 'name', MAX_NAME_CHARS) ?? userName;
    const account = { userName, nickName, password: '', roleIds: [], ...(email && { email }) };
    const actor = { tenantId, userName };
    try {
      const userId = await this.accounts.createAccount(actor, account, 'create', NO_PASSWORD);
      return await this.rows.identities.insert(tenantId, { providerId, userId, subject });
    } catch (error) {
      // The name is free, and changes of one tenant run one after the other.
      throw error instanceof ConflictError ? new SsoRefusedError('limit', error) : error;
    }
  }

  private async update(identity: SsoIdentity, context: SignInContext): Promise<AuditRecord[]> {
    const { tenantId, userId } = identity;
    const entries: AuditRecord[] = [];
    const about = { target: 'user', id: userId } as const;
    const ssoProvider = context.provider.id;
    const user = await this.users.users.get(tenantId, userId);
    if (user.status !== ENABLED) {
      if (!user.suspended) throw new SsoRefusedError('disabled');
      await this.users.users.update(tenantId, userId, { status: ENABLED, suspended: false });
      entries.push({
        action: 'status-change',
        ...about,
        detail: { status: ENABLED, ssoProvider },
      });
    }
    const { isOverage } = context.vouched;
    if (identity.groupsOverage !== isOverage) {
      await this.rows.identities.update(tenantId, identity.id, { groupsOverage: isOverage });
      const detail = { ssoProvider, reason: 'groups overage' };
      if (isOverage) entries.push({ action: 'update', ...about, detail });
    }
    const roles = await this.newRoles(user, context);
    if (roles) {
      await this.roles.replaceOf(tenantId, userId, roles.after);
      entries.push({ action: 'permission-change', ...about, detail: { ...roles, ssoProvider } });
    }
    entries.push(...(await this.setGroups(context.provider, userId, context.groups)));
    return entries;
  }

  /** The roles before and after the sign-in; undefined where they stay the same. */
  private async newRoles(
    { tenantId, id }: User,
    { mapping, mappedRoles: roleIds, vouched }: SignInContext,
  ): Promise<{ readonly before: number[]; readonly after: number[] } | undefined> {
    const current = (await this.roles.of(tenantId, id)).map((role) => role.id);
    const before = [...current].sort((a, b) => a - b);
    const byGroups = (await this.provisioned.rolesOf(tenantId, [id])).get(id) ?? [];
    const after = rolesAfter(current, mapping, [...roleIds, ...byGroups], vouched.isOverage);
    return before.join() === after.join() ? undefined : { before, after };
  }

  private async freeName(tenantId: string, requestedName: string): Promise<string> {
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? requestedName : numbered(requestedName, number);
      if (!(await this.users.byName(tenantId, name))) return name;
    }
  }
}
