import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { AuditRecord } from '../../platform/audit/index.js';
import { ConflictError, NotFoundError } from '../../platform/error/index.js';
import { defined } from '../../platform/http/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { AccessChange } from '../access/access.change.js';
import { UserRepository } from '../user/user.repository.js';
import { GroupMemberView, GroupView } from './group.dto.js';
import type {
  ChangedGroupDto,
  GroupListQuery,
  GroupMemberListQuery,
  GroupMembersDto,
  NewGroupDto,
} from './group.dto.js';
import type { UserGroup } from './group.entity.js';
import { GroupRepository, MAX_GROUP_MEMBERS } from './group.repository.js';
import type { GroupFigures } from './group.repository.js';

const NO_FIGURES: GroupFigures = {
  providerName: null,
  userCount: 0,
  groupCount: 0,
  allUserCount: 0,
};

/** Groups of every source, as administrators see them. Only local groups are changed here. */
@Injectable()
export class GroupService {
  constructor(
    private readonly groups: GroupRepository,
    private readonly users: UserRepository,
    private readonly change: AccessChange,
  ) {}

  async list({ tenantId }: Caller, query: GroupListQuery): Promise<Page<GroupView>> {
    const page = await this.groups.page(tenantId, query);
    const ids = page.rows.map(({ id }) => id);
    const figures = await this.groups.figures(tenantId, ids);
    return page.map((group) => viewOf(group, figures.get(group.id)));
  }

  async get({ tenantId }: Caller, id: number): Promise<GroupView> {
    const group = await this.groups.groups.get(tenantId, id);
    const figures = await this.groups.figures(tenantId, [id]);
    return viewOf(group, figures.get(id));
  }

  async members({ tenantId }: Caller, query: GroupMemberListQuery): Promise<Page<GroupMemberView>> {
    await this.groups.groups.get(tenantId, query.groupId);
    const page = await this.groups.members(tenantId, query);
    return page.map((member) => GroupMemberView.of(member, {}));
  }

  async create(caller: Caller, { displayName, remark }: NewGroupDto): Promise<number> {
    const { tenantId } = caller;
    return this.change.apply(
      caller,
      async () => {
        await this.requireFreeName(tenantId, displayName);
        const values = { source: 'local', displayName, remark: remark ?? null } as const;
        return (await this.groups.groups.insert(tenantId, values)).id;
      },
      (id) => [entry('create', id, { displayName })],
    );
  }

  async update(caller: Caller, { groupId, revision, ...values }: ChangedGroupDto): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        const group = await this.changeable(tenantId, groupId);
        await this.groups.groups.requireRevision(tenantId, groupId, {
          expected: revision,
          current: () => this.get(caller, groupId),
        });
        const { displayName = group.displayName } = values;
        if (displayName !== group.displayName) {
          await this.requireFreeName(tenantId, displayName, groupId);
        }
        await this.groups.groups.update(tenantId, groupId, values);
      },
      () => [entry('update', groupId, defined(values))],
    );
  }

  async changeMembers(caller: Caller, change: GroupMembersDto): Promise<void> {
    const { tenantId } = caller;
    const { groupId, addedUserIds = [], removedUserIds = [] } = change;
    const { addedGroupIds = [], removedGroupIds = [] } = change;
    const userIds = new Set([...addedUserIds, ...removedUserIds]);
    const groupIds = new Set([...addedGroupIds, ...removedGroupIds]);
    await this.change.apply(
      caller,
      async () => {
        await this.changeable(tenantId, groupId);
        const users = await this.users.byIds(tenantId, [...userIds]);
        if (users.length !== userIds.size) throw new NotFoundError(msg`The user`);
        const groups = await this.groups.byIds(tenantId, [...groupIds]);
        if (groups.length !== groupIds.size) throw new NotFoundError(msg`The group`);
        await this.groups.removeMembers(tenantId, [groupId], removedUserIds);
        await this.groups.removeChildren(tenantId, groupId, removedGroupIds);
        await this.groups.addMembers(tenantId, [groupId], addedUserIds);
        await this.groups.addChildren(tenantId, groupId, addedGroupIds);
        const figures = await this.groups.figures(tenantId, [groupId]);
        const { userCount, groupCount } = figures.get(groupId) ?? NO_FIGURES;
        if (userCount + groupCount > MAX_GROUP_MEMBERS) {
          throw new ConflictError(
            msg`A group has at most ${MAX_GROUP_MEMBERS} members. Put the users into several groups, and these into this one.`,
          );
        }
      },
      () => [
        entry('permission-change', groupId, {
          addedUserIds,
          removedUserIds,
          addedGroupIds,
          removedGroupIds,
        }),
      ],
    );
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    await this.change.apply(
      caller,
      async () => {
        const groups = await this.groups.byIds(tenantId, ids);
        const figures = await this.groups.figures(tenantId, ids);
        for (const group of groups) {
          const { userCount } = figures.get(group.id) ?? NO_FIGURES;
          if (group.source !== 'sso' || userCount > 0) requireLocal(group);
        }
        await this.groups.remove(tenantId, ids);
        return groups;
      },
      (groups) => groups.map(({ id, displayName }) => entry('delete', id, { displayName })),
    );
  }

  private async changeable(tenantId: string, id: number): Promise<UserGroup> {
    const group = await this.groups.groups.get(tenantId, id);
    requireLocal(group);
    return group;
  }

  private async requireFreeName(
    tenantId: string,
    displayName: string,
    exceptId?: number,
  ): Promise<void> {
    const sameName = await this.groups.localByName(tenantId, displayName);
    if (sameName === undefined || sameName === exceptId) return;
    throw new ConflictError(msg`The group name ${displayName} is taken. Choose another one.`);
  }
}

/** Throws ConflictError for a group that is changed elsewhere. */
function requireLocal({ source, displayName }: UserGroup): void {
  if (source === 'local') return;
  throw new ConflictError(
    source === 'scim'
      ? msg`The group ${displayName} comes from a directory by SCIM. Change it there, or create a local group and add this one to it.`
      : msg`The group ${displayName} comes from the claims of sign-ins. Change its members at the provider, or create a local group and add this one to it.`,
  );
}

function viewOf(group: UserGroup, figures: GroupFigures = NO_FIGURES): GroupView {
  return GroupView.of(group, { ...figures, groupId: group.id });
}

function entry(
  action: AuditRecord['action'],
  id: number,
  detail: Readonly<Record<string, unknown>>,
): AuditRecord {
  return { action, target: 'user_group', id, detail };
}
