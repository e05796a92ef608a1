import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database, TenantScoped } from '../../platform/database/index.js';
import { ConflictError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { UserGroup } from './group.entity.js';

/** Limit of groups inside of each other, from the outermost to the innermost. */
export const MAX_GROUP_LEVELS = 10;
/** Limit of users and groups that are direct members of a group. Claims of sign-ins have none. */
export const MAX_GROUP_MEMBERS = 10_000;

/** The groups of $2 and every group around them. */
const AROUND = `around (id) AS (
    SELECT unnest($2::bigint[])
     UNION
    SELECT c.group_id FROM group_child c JOIN around a ON c.child_id = a.id WHERE c.tenant_id = $1)`;

/** Puts the users of $3 into the groups of $2 and every group around them. */
const ENTER = `
  WITH RECURSIVE ${AROUND}
  INSERT INTO group_membership (tenant_id, group_id, user_id)
  SELECT $1, a.id, u.id FROM around a CROSS JOIN unnest($3::bigint[]) AS u (id)
      ON CONFLICT DO NOTHING`;

/** Takes the users of $3 out of the groups of $2 and every group around them, unless another way leads into the group. */
const LEAVE = `
  WITH RECURSIVE ${AROUND},
  inside (top, id) AS (
    SELECT id, id FROM around
     UNION
    SELECT i.top, c.child_id FROM inside i JOIN group_child c ON c.group_id = i.id WHERE c.tenant_id = $1)
  DELETE FROM group_membership s USING around a
   WHERE s.tenant_id = $1 AND s.group_id = a.id AND s.user_id = ANY ($3::bigint[])
     AND NOT EXISTS (
       SELECT 1 FROM inside i JOIN group_member m ON m.group_id = i.id AND m.tenant_id = $1
        WHERE i.top = s.group_id AND m.user_id = s.user_id)`;

/** What would follow if the groups of $3 were put into the group $2. */
const NESTING = `
  WITH RECURSIVE around (id, level) AS (
    SELECT $2::bigint, 1
     UNION
    SELECT c.group_id, a.level + 1 FROM group_child c JOIN around a ON c.child_id = a.id
     WHERE c.tenant_id = $1 AND a.level <= $4),
  inside (id, level) AS (
    SELECT unnest($3::bigint[]), 1
     UNION
    SELECT c.child_id, i.level + 1 FROM inside i JOIN group_child c ON c.group_id = i.id
     WHERE c.tenant_id = $1 AND i.level <= $4)
  SELECT (SELECT max(level) FROM around) + (SELECT max(level) FROM inside) AS levels,
         EXISTS (SELECT 1 FROM around WHERE id = ANY ($3::bigint[])) AS "isCycle"`;

/**
 * Groups, their members, and the users that each group has by them. Every change belongs into an AccessChange: those of one
 * tenant run one after the other, and the users of groups follow in the same transaction.
 */
@Injectable()
export class GroupRepository {
  readonly groups: TenantScoped<UserGroup>;

  constructor(private readonly database: Database) {
    this.groups = new TenantScoped(database, UserGroup, msg`The group`);
  }

  async byIds(tenantId: string, ids: readonly number[]): Promise<UserGroup[]> {
    return this.groups.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  /** The users of the groups, those of the groups inside of them included. */
  async userIdsOf(tenantId: string, groupIds: readonly number[]): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT DISTINCT user_id AS id FROM group_membership
        WHERE tenant_id = $1 AND group_id = ANY ($2::bigint[])`,
      [tenantId, [...groupIds]],
    );
    return rows.map(({ id }) => id);
  }

  async addMembers(tenantId: string, groupId: number, userIds: readonly number[]): Promise<void> {
    if (userIds.length === 0) return;
    await this.database.query(
      `INSERT INTO group_member (tenant_id, group_id, user_id)
       SELECT $1, $2, id FROM unnest($3::bigint[]) AS id ON CONFLICT DO NOTHING`,
      [tenantId, groupId, [...userIds]],
    );
    await this.database.query(ENTER, [tenantId, [groupId], [...userIds]]);
  }

  async removeMembers(
    tenantId: string,
    groupId: number,
    userIds: readonly number[],
  ): Promise<void> {
    if (userIds.length === 0) return;
    await this.database.query(
      `DELETE FROM group_member
        WHERE tenant_id = $1 AND group_id = $2 AND user_id = ANY ($3::bigint[])`,
      [tenantId, groupId, [...userIds]],
    );
    await this.database.query(LEAVE, [tenantId, [groupId], [...userIds]]);
  }

  /** Puts groups into a group. Throws ConflictError for a cycle and for more than MAX_GROUP_LEVELS levels. */
  async addChildren(tenantId: string, groupId: number, childIds: readonly number[]): Promise<void> {
    if (childIds.length === 0) return;
    await this.requireNestable(tenantId, groupId, childIds);
    await this.database.query(
      `INSERT INTO group_child (tenant_id, group_id, child_id)
       SELECT $1, $2, id FROM unnest($3::bigint[]) AS id ON CONFLICT DO NOTHING`,
      [tenantId, groupId, [...childIds]],
    );
    const userIds = await this.userIdsOf(tenantId, childIds);
    await this.database.query(ENTER, [tenantId, [groupId], userIds]);
  }

  async removeChildren(
    tenantId: string,
    groupId: number,
    childIds: readonly number[],
  ): Promise<void> {
    if (childIds.length === 0) return;
    await this.database.query(
      `DELETE FROM group_child
        WHERE tenant_id = $1 AND group_id = $2 AND child_id = ANY ($3::bigint[])`,
      [tenantId, groupId, [...childIds]],
    );
    const userIds = await this.userIdsOf(tenantId, childIds);
    await this.database.query(LEAVE, [tenantId, [groupId], userIds]);
  }

  /** Deletes the groups. Throws NotFoundError if one does not exist. */
  async remove(tenantId: string, ids: readonly number[]): Promise<void> {
    const userIds = await this.userIdsOf(tenantId, ids);
    const parents = await this.database.query<{ id: number }>(
      `SELECT DISTINCT group_id AS id FROM group_child
        WHERE tenant_id = $1 AND child_id = ANY ($2::bigint[]) AND group_id <> ALL ($2::bigint[])`,
      [tenantId, [...ids]],
    );
    await this.groups.remove(tenantId, ids);
    if (parents.length === 0) return;
    await this.database.query(LEAVE, [tenantId, parents.map(({ id }) => id), userIds]);
  }

  private async requireNestable(
    tenantId: string,
    groupId: number,
    childIds: readonly number[],
  ): Promise<void> {
    const [nesting] = await this.database.query<{ levels: number; isCycle: boolean }>(NESTING, [
      tenantId,
      groupId,
      [...childIds],
      MAX_GROUP_LEVELS,
    ]);
    if (nesting?.isCycle) {
      throw new ConflictError(
        msg`A group cannot be inside of itself, also by way of other groups. Remove one of the groups first.`,
      );
    }
    if ((nesting?.levels ?? 0) > MAX_GROUP_LEVELS) {
      throw new ConflictError(
        msg`Groups can be inside of each other on at most ${MAX_GROUP_LEVELS} levels. Add the members to an outer group instead.`,
      );
    }
  }
}
