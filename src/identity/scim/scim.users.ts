import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError, NotFoundError } from '../../platform/error/index.js';
import { defined } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import { NO_PASSWORD } from '../user/user.entity.js';
import { UserRepository } from '../user/user.repository.js';
import { UserService } from '../user/user.service.js';
import { numberOf, ScimAddress } from './scim.address.js';
import { patchedUser, userOf } from './scim.changes.js';
import type { UserChanges } from './scim.changes.js';
import type { ScimListQuery, ScimShownQuery } from './scim.dto.js';
import { invalidValue, TakenError } from './scim.errors.js';
import { listOf, sliceOf } from './scim.list.js';
import { ScimRepository } from './scim.repository.js';
import type { UserRow } from './scim.repository.js';
import { AttributeSelection, toScimUser } from './scim.view.js';
import type { ScimResource } from './scim.view.js';

const ENABLED = '0';
const DISABLED = '1';
const MAX_NAME_CHARS = 64;
const WHAT = msg`The user`;

/**
 * Users as a directory reads and changes them. Super administrators, break-glass users and service accounts do not exist for
 * it, and it cannot change users with a permission that its key lacks.
 */
@Injectable()
export class ScimUsers {
  constructor(
    private readonly rows: ScimRepository,
    private readonly accounts: UserService,
    private readonly users: UserRepository,
    private readonly policy: UserAccessPolicy,
    private readonly change: AccessChange,
    private readonly address: ScimAddress,
  ) {}

  async list({ tenantId }: Caller, query: ScimListQuery): Promise<ScimResource> {
    const slice = sliceOf(query);
    const { rows, total } = await this.rows.users(tenantId, slice);
    return listOf(await this.toResources(tenantId, rows, query), { total, offset: slice.offset });
  }

  async get({ tenantId }: Caller, id: string, query: ScimShownQuery = {}): Promise<ScimResource> {
    const row = await this.visible(tenantId, numberOf(id, WHAT));
    const [resource] = await this.toResources(tenantId, [row], query);
    return resource ?? {};
  }

  async create(caller: Caller, body: unknown): Promise<ScimResource> {
    const { tenantId } = caller;
    const changes = userOf(body);
    const userName = checkedName(changes.userName);
    const { externalId = null, givenName = null, familyName = null } = changes;
    const userId = await this.change.apply(
      caller,
      async () => {
        if (!(await this.users.canAddUser(tenantId))) {
          throw new ForbiddenError(
            msg`This tenant has reached its limit of users. Delete one, or ask the operator to raise accountCount.`,
          );
        }
        await this.requireFree(tenantId, externalId);
        const account = {
          userName,
          nickName: nickNameOf(changes) ?? userName,
          password: '',
          roleIds: [],
          status: changes.active === false ? DISABLED : ENABLED,
          ...(changes.email && { email: changes.email }),
          ...(changes.phone && { phonenumber: changes.phone }),
        };
        const id = await this.accounts.createAccount(caller, account, 'create', NO_PASSWORD);
        const profile = { externalId, givenName, familyName, created: true };
        await this.rows.saveProfile(tenantId, id, profile);
        return id;
      },
      () => [],
    );
    return this.get(caller, String(userId));
  }

  async replace(caller: Caller, id: string, body: unknown): Promise<ScimResource> {
    await this.apply(caller, numberOf(id, WHAT), userOf(body));
    return this.get(caller, id);
  }

  async patch(caller: Caller, id: string, body: unknown): Promise<ScimResource> {
    await this.apply(caller, numberOf(id, WHAT), patchedUser(body));
    return this.get(caller, id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    const { id: userId } = await this.visible(caller.tenantId, numberOf(id, WHAT));
    await this.accounts.remove(caller, [userId]);
  }

  private async apply(caller: Caller, userId: number, changes: UserChanges): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        const before = await this.visible(tenantId, userId);
        await this.policy.manageable(caller, [userId]);
        const account = accountChanges(before, changes);
        if (Object.keys(account).length > 0) {
          await this.accounts.update(caller, { userId, ...account });
        }
        const fields = await this.applyProfile(tenantId, before, changes);
        // The status comes last, because disabling ends the sign-ins.
        if (changes.active !== undefined) {
          const status = changes.active ? ENABLED : DISABLED;
          await this.accounts.changeStatus(caller, userId, status);
        }
        return fields;
      },
      (fields) =>
        fields.length > 0
          ? [{ action: 'update', target: 'user', id: userId, detail: { fields } }]
          : [],
    );
  }

  /** Stores the changed attributes and returns their names. */
  private async applyProfile(
    tenantId: string,
    before: UserRow,
    { externalId, givenName, familyName }: UserChanges,
  ): Promise<string[]> {
    const changedFields = defined({ externalId, givenName, familyName });
    const fields = (['externalId', 'givenName', 'familyName'] as const).filter(
      (name) => changedFields[name] !== undefined && changedFields[name] !== before[name],
    );
    if (fields.length === 0) return [];
    if (fields.includes('externalId')) await this.requireFree(tenantId, externalId ?? null);
    const profile = await this.rows.profile(tenantId, before.id);
    const { created = false } = profile ?? {};
    const nextProfile = { externalId: null, givenName: null, familyName: null, ...profile };
    await this.rows.saveProfile(tenantId, before.id, { ...nextProfile, ...changedFields, created });
    return fields;
  }

  private async toResources(
    tenantId: string,
    rows: readonly UserRow[],
    query: ScimShownQuery,
  ): Promise<ScimResource[]> {
    const attributes = new AttributeSelection(query);
    const ids = rows.map(({ id }) => id);
    const memberships = attributes.names('groups')
      ? Map.groupBy(await this.rows.groupsOf(tenantId, ids), ({ userId }) => userId)
      : undefined;
    const { base } = this.address;
    return rows.map((row) =>
      attributes.of(toScimUser(row, base, memberships && (memberships.get(row.id) ?? []))),
    );
  }

  private async visible(tenantId: string, id: number): Promise<UserRow> {
    const row = await this.rows.user(tenantId, id);
    if (!row) throw new NotFoundError(WHAT);
    return row;
  }

  private async requireFree(tenantId: string, externalId: string | null): Promise<void> {
    if (externalId === null) return;
    if ((await this.rows.userIdOf(tenantId, externalId)) === undefined) return;
    throw new TakenError('externalId', externalId);
  }
}

interface AccountChanges {
  userName?: string;
  nickName?: string;
  email?: string;
  phonenumber?: string;
}

/** The changes that differ from the stored values; an empty text counts as no value. */
function accountChanges(before: UserRow, changes: UserChanges): AccountChanges {
  const { userName, email, phone } = changes;
  const nickName = nickNameOf(changes, before);
  const requestedValues = {
    userName: userName === undefined ? undefined : checkedName(userName),
    nickName,
    email: email === null ? '' : email,
    phonenumber: phone === null ? '' : phone,
  };
  const currentValues: Readonly<Record<string, string | null>> = {
    userName: before.userName,
    nickName: before.nickName,
    email: before.email ?? '',
    phonenumber: before.phonenumber ?? '',
  };
  const changedEntries = Object.entries(requestedValues).filter(
    ([name, value]) => value !== undefined && value !== currentValues[name],
  );
  return Object.fromEntries(changedEntries);
}

/** The name that is shown: displayName, else the whole name, else its parts where it was made of them. */
function nickNameOf(changes: UserChanges, before?: UserRow): string | undefined {
  const named = changes.displayName ?? changes.formatted;
  if (named) return named;
  if (changes.givenName === undefined && changes.familyName === undefined) return undefined;
  const old = joined(before?.givenName, before?.familyName);
  if (before && before.nickName !== old && before.nickName !== before.userName) return undefined;
  const { givenName = before?.givenName, familyName = before?.familyName } = changes;
  return joined(givenName, familyName) || undefined;
}

function joined(...parts: readonly (string | null | undefined)[]): string {
  return parts.filter(Boolean).join(' ').slice(0, MAX_NAME_CHARS).trim();
}

function checkedName(userName: string | undefined): string {
  if (userName === undefined || !/^\S{2,64}$/.test(userName)) throw invalidValue('userName');
  return userName;
}
