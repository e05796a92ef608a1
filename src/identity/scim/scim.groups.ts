import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { GroupRepository, MAX_GROUP_MEMBERS } from '../group/group.repository.js';
import { RoleRepository } from '../role/role.repository.js';
import { UserAccessPolicy } from '../user/user.access-policy.js';
import { numberOf, ScimAddress } from './scim.address.js';
import { groupOf, memberKey, patchedGroup } from './scim.changes.js';
import type { GroupChanges, GroupMemberRef, GroupMembers } from './scim.changes.js';
import type { ScimListQuery, ScimShownQuery } from './scim.dto.js';
import { invalidValue, ScimError, TakenError } from './scim.errors.js';
import { listOf, sliceOf } from './scim.list.js';
import { ScimRepository } from './scim.repository.js';
import type { GroupRow } from './scim.repository.js';
import { AttributeSelection, toScimGroup } from './scim.view.js';
import type { ScimResource } from './scim.view.js';

const WHAT = msg`The group`;

interface GroupValues {
  readonly displayName: string;
  readonly externalId: string | null;
}

/**
 * Groups as a directory reads and changes them. The mapping of a provisioned provider says which roles they give; a change
 * that would give or take one needs its permissions, as for one who gives it to a user.
 */
@Injectable()
export class ScimGroups {
  constructor(
    private readonly rows: ScimRepository,
    private readonly groups: GroupRepository,
    private readonly roles: RoleRepository,
    private readonly policy: UserAccessPolicy,
    private readonly change: AccessChange,
    private readonly address: ScimAddress,
  ) {}

  async list({ tenantId }: Caller, query: ScimListQuery): Promise<ScimResource> {
    const slice = sliceOf(query);
    const { rows, total } = await this.rows.groups(tenantId, slice);
    const withMembers = new AttributeSelection(query).has('members');
    const page = withMembers ? fewMembers(rows) : rows;
    return listOf(await this.toResources(tenantId, page, query), { total, offset: slice.offset });
  }

  async get({ tenantId }: Caller, id: string, query: ScimShownQuery = {}): Promise<ScimResource> {
    const row = await this.requireGroup(tenantId, numberOf(id, WHAT));
    const [resource] = await this.toResources(tenantId, [row], query);
    return resource ?? {};
  }

  async create(caller: Caller, body: unknown): Promise<ScimResource> {
    const { tenantId } = caller;
    const { displayName, externalId = null, members } = groupOf(body);
    if (displayName === undefined) throw invalidValue('displayName');
    const { id } = await this.change.apply(
      caller,
      async () => {
        await this.requireFree(tenantId, { displayName, externalId });
        const { id: groupId } = await this.groups.groups.insert(tenantId, {
          source: 'scim',
          displayName,
          externalId,
        });
        const entries = members ? await this.applyMembers(caller, groupId, members) : [];
        return { id: groupId, entries };
      },
      ({ id: groupId, entries }) => [
        entry('create', groupId, { displayName, externalId }),
        ...entries,
      ],
    );
    return this.get(caller, String(id));
  }

  async replace(caller: Caller, id: string, body: unknown): Promise<ScimResource> {
    await this.apply(caller, numberOf(id, WHAT), groupOf(body));
    return this.get(caller, id);
  }

  async patch(caller: Caller, id: string, body: unknown): Promise<void> {
    await this.apply(caller, numberOf(id, WHAT), patchedGroup(body));
  }

  async remove(caller: Caller, id: string): Promise<void> {
    const { tenantId } = caller;
    const groupId = numberOf(id, WHAT);
    await this.change.apply(
      caller,
      async () => {
        const { displayName } = await this.requireGroup(tenantId, groupId);
        const userIds = await this.visibleUsers(tenantId, [groupId]);
        const entries = await this.withRoles(caller, userIds, () =>
          this.groups.remove(tenantId, [groupId]),
        );
        return [...entries, entry('delete', groupId, { displayName })];
      },
      (entries) => entries,
    );
  }

  private async apply(caller: Caller, id: number, changes: GroupChanges): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        const before = await this.requireGroup(tenantId, id);
        const entries: AuditRecord[] = [];
        const { displayName = before.displayName, externalId = before.externalId } = changes;
        const values = { displayName, externalId };
        if (displayName !== before.displayName || externalId !== before.externalId) {
          await this.requireFree(tenantId, values, id);
          const userIds = await this.visibleUsers(tenantId, [id]);
          const update = (): Promise<void> => this.groups.groups.update(tenantId, id, values);
          entries.push(...(await this.withRoles(caller, userIds, update)));
          entries.push(entry('update', id, { ...values }));
        }
        if (changes.members)
          entries.push(...(await this.applyMembers(caller, id, changes.members)));
        return entries;
      },
      (entries) => entries,
    );
  }

  private async applyMembers(
    caller: Caller,
    groupId: number,
    change: NonNullable<GroupChanges['members']>,
  ): Promise<AuditRecord[]> {
    const { tenantId } = caller;
    const before = await this.currentMembers(tenantId, groupId);
    const after: GroupMembers = new Map(before);
    change(after);
    if (after.size > MAX_GROUP_MEMBERS) {
      throw new ScimError('invalidValue', msg`A group has at most ${MAX_GROUP_MEMBERS} members.`);
    }
    const [removed, removedGroups] = idsByType(missingIn(after, before));
    const [added, addedGroups] = await this.requireMembers(tenantId, missingIn(before, after));
    const changed = { added, removed, addedGroups, removedGroups };
    if (Object.values(changed).every(({ length }) => length === 0)) return [];
    const inGroups = await this.visibleUsers(tenantId, [...addedGroups, ...removedGroups]);
    const userIds = [...new Set([...added, ...removed, ...inGroups])];
    const entries = await this.withRoles(caller, userIds, async () => {
      await this.groups.removeMembers(tenantId, [groupId], removed);
      await this.groups.removeChildren(tenantId, groupId, removedGroups);
      await this.groups.addMembers(tenantId, [groupId], added);
      await this.groups.addChildren(tenantId, groupId, addedGroups);
    });
    return [entry('update', groupId, changed), ...entries];
  }

  /** Gives and takes the roles that the change of groups gives and takes, and answers what to write to the audit log. */
  private async withRoles(
    caller: Caller,
    userIds: readonly number[],
    change: () => Promise<void>,
  ): Promise<AuditRecord[]> {
    const { tenantId } = caller;
    const before = await this.rows.rolesOf(tenantId, userIds);
    await change();
    const after = await this.rows.rolesOf(tenantId, userIds);
    const changed = userIds.flatMap((userId) => {
      const [had, has] = [before.get(userId) ?? [], after.get(userId) ?? []];
      const gave = has.filter((id) => !had.includes(id));
      const took = had.filter((id) => !has.includes(id));
      return gave.length + took.length > 0 ? [{ userId, gave, took }] : [];
    });
    if (changed.length === 0) return [];
    await this.policy.manageable(
      caller,
      changed.map(({ userId }) => userId),
    );
    const roleIds = [...new Set(changed.flatMap(({ gave, took }) => [...gave, ...took]))];
    await this.policy.assignable(caller, roleIds);
    for (const roleId of roleIds) {
      const usersOf = (name: 'gave' | 'took'): number[] =>
        changed.flatMap((one) => (one[name].includes(roleId) ? [one.userId] : []));
      await this.roles.assign(tenantId, roleId, usersOf('gave'));
      await this.roles.unassign(tenantId, roleId, usersOf('took'));
    }
    return changed.map(({ userId: id, gave, took }) => ({
      action: 'permission-change',
      target: 'user',
      id,
      detail: { gave, took },
    }));
  }

  private async toResources(
    tenantId: string,
    rows: readonly GroupRow[],
    query: ScimShownQuery,
  ): Promise<ScimResource[]> {
    const attributes = new AttributeSelection(query);
    const ids = rows.map(({ id }) => id);
    const members = attributes.has('members')
      ? Map.groupBy(await this.rows.members(tenantId, ids), ({ groupId }) => groupId)
      : undefined;
    const { base } = this.address;
    return rows.map((row) =>
      attributes.of(toScimGroup(row, base, members && (members.get(row.id) ?? []))),
    );
  }

  /** The members that a directory may see; other members of the group stay unchanged. */
  private async currentMembers(tenantId: string, groupId: number): Promise<GroupMembers> {
    const members = await this.rows.members(tenantId, [groupId]);
    const refs = members.map(({ type, id }) => ({ type, value: String(id) }));
    return new Map(refs.map((ref) => [memberKey(ref), ref]));
  }

  /** The users of the groups, those of groups in them included, whose roles a directory may change. */
  private async visibleUsers(tenantId: string, groupIds: readonly number[]): Promise<number[]> {
    if (groupIds.length === 0) return [];
    return this.rows.visibleIds(tenantId, await this.groups.userIdsOf(tenantId, groupIds));
  }

  private async requireGroup(tenantId: string, id: number): Promise<GroupRow> {
    const row = await this.rows.group(tenantId, id);
    if (!row) throw new NotFoundError(WHAT);
    return row;
  }

  /** The ids of users and of groups. Throws ScimError if one does not exist. */
  private async requireMembers(
    tenantId: string,
    members: readonly GroupMemberRef[],
  ): Promise<[users: number[], groups: number[]]> {
    const [userIds, groupIds] = idsByType(members);
    const existing = {
      User: new Set(await this.rows.visibleIds(tenantId, userIds)),
      Group: new Set(await this.rows.visibleGroupIds(tenantId, groupIds)),
    };
    const unknown = members.find(({ type, value }) => !existing[type].has(idOf(value)));
    if (unknown === undefined) return [userIds, groupIds];
    const excerpt = unknown.value.toWellFormed().replaceAll('\0', '').slice(0, 40).toWellFormed();
    throw new ScimError(
      'invalidValue',
      unknown.type === 'User'
        ? msg`There is no user ${excerpt} to be a member.`
        : msg`There is no group ${excerpt} to be a member.`,
    );
  }

  private async requireFree(
    tenantId: string,
    { displayName, externalId }: GroupValues,
    except?: number,
  ): Promise<void> {
    const like = await this.rows.groupsLike(tenantId, displayName, externalId);
    const conflictingGroup = like.find(({ id }) => id !== except);
    if (!conflictingGroup) return;
    if (externalId !== null && conflictingGroup.externalId === externalId) {
      throw new TakenError('externalId', externalId);
    }
    throw new TakenError('displayName', displayName);
  }
}

/** The first groups whose members together keep the answer small. */
function fewMembers(rows: readonly GroupRow[]): readonly GroupRow[] {
  let members = 0;
  const end = rows.findIndex(({ memberCount }, at) => {
    members += memberCount;
    return at > 0 && members > MAX_GROUP_MEMBERS;
  });
  return end === -1 ? rows : rows.slice(0, end);
}

function missingIn(members: GroupMembers, of: GroupMembers): GroupMemberRef[] {
  return [...of].filter(([key]) => !members.has(key)).map(([, member]) => member);
}

/** The number of a resource; 0, which none has, for a text that is not a number. */
function idOf(value: string): number {
  return /^[1-9]\d{0,14}$/.test(value) ? Number(value) : 0;
}

function idsByType(members: readonly GroupMemberRef[]): [users: number[], groups: number[]] {
  const idsOf = (wanted: GroupMemberRef['type']): number[] =>
    members.filter(({ type }) => type === wanted).map(({ value }) => idOf(value));
  return [idsOf('User'), idsOf('Group')];
}

function entry(
  action: AuditRecord['action'],
  id: number,
  detail: Readonly<Record<string, unknown>>,
): AuditRecord {
  return { action, target: 'provisioned_group', id, detail };
}
