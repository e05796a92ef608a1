import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import {
  anyOf,
  containing,
  createdWithin,
  Database,
  TenantScoped,
} from '../../platform/database/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { Page, rowsOf } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { GroupListQuery, GroupMemberListQuery } from './group.dto.js';
import { UserGroup } from './group.entity.js';
import type { GroupSource } from './group.entity.js';

/** Limit of groups inside of each other, from the outermost to the innermost. */
export const MAX_GROUP_LEVELS = 10;
/** Limit of users and groups that are direct members of a group; not for groups of sign-ins. */
export const MAX_GROUP_MEMBERS = 10_000;
/** Limit of the groups that the claim of one provider creates. */
const MAX_CLAIMED_GROUPS = 20_000;

/** What a list shows of a group beside its own columns. */
export interface GroupFigures {
  readonly providerName: string | null;
  /** The users that are direct members. */
  readonly userCount: number;
  /** The groups that are direct members. */
  readonly groupCount: number;
  /** The users with those of the groups in it. */
  readonly allUserCount: number;
}

/** A direct member of a group. */
export interface DirectMember {
  readonly type: 'user' | 'group';
  readonly id: number;
  readonly name: string;
  readonly nickName: string | null;
  readonly source: GroupSource | null;
}

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
  inside (id) AS (
    SELECT id FROM around
     UNION
    SELECT c.child_id FROM inside i JOIN group_child c ON c.group_id = i.id WHERE c.tenant_id = $1),
  remaining (group_id, user_id) AS (
    SELECT m.group_id, m.user_id FROM inside i JOIN group_member m ON m.group_id = i.id
     WHERE m.tenant_id = $1 AND m.user_id = ANY ($3::bigint[])
     UNION
    SELECT c.group_id, r.user_id FROM remaining r JOIN group_child c ON c.child_id = r.group_id
     WHERE c.tenant_id = $1)
  DELETE FROM group_membership s USING around a
   WHERE s.tenant_id = $1 AND s.group_id = a.id AND s.user_id = ANY ($3::bigint[])
     AND NOT EXISTS (
       SELECT 1 FROM remaining r WHERE r.group_id = s.group_id AND r.user_id = s.user_id)`;

const FIGURES = `
  SELECT g.id, p.name AS "providerName",
         (SELECT count(*) FROM group_member WHERE tenant_id = $1 AND group_id = g.id)::int AS "userCount",
         (SELECT count(*) FROM group_child WHERE tenant_id = $1 AND group_id = g.id)::int AS "groupCount",
         (SELECT count(*) FROM group_membership WHERE tenant_id = $1 AND group_id = g.id)::int AS "allUserCount"
    FROM user_group g LEFT JOIN sso_provider p ON p.id = g.provider_id AND p.tenant_id = g.tenant_id
   WHERE g.tenant_id = $1 AND g.id = ANY ($2::bigint[])`;

/** The direct members of the group $2 whose names contain $3. */
const MEMBERS = `FROM (
    SELECT 'group' AS type, g.id, g.display_name AS name, NULL AS nick_name, g.source
      FROM group_child c JOIN user_group g ON g.id = c.child_id AND g.tenant_id = c.tenant_id
     WHERE c.tenant_id = $1 AND c.group_id = $2
     UNION ALL
    SELECT 'user', u.id, u.user_name, u.nick_name, NULL
      FROM group_member m JOIN user_account u ON u.id = m.user_id AND u.tenant_id = m.tenant_id
     WHERE m.tenant_id = $1 AND m.group_id = $2) member
  WHERE strpos(lower(name), lower($3::text)) > 0 OR strpos(lower(nick_name), lower($3::text)) > 0`;

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

  async page(tenantId: string, query: GroupListQuery): Promise<Page<UserGroup>> {
    const { displayName, source, userId } = query;
    const where: FindOptionsWhere<UserGroup> = {
      ...(displayName && { displayName: containing(displayName) }),
      ...(source && { source }),
      ...(userId !== undefined && { id: anyOf(await this.idsOfUser(tenantId, userId)) }),
      ...createdWithin(query.params),
    };
    return this.groups.page(tenantId, query, where, { displayName: 'ASC', id: 'ASC' });
  }

  /** The id of the local group with the name, whatever the case of its letters. */
  async localByName(tenantId: string, displayName: string): Promise<number | undefined> {
    const [row] = await this.database.query<{ id: number }>(
      `SELECT id FROM user_group
        WHERE tenant_id = $1 AND source = 'local' AND lower(display_name) = lower($2)`,
      [tenantId, displayName],
    );
    return row?.id;
  }

  async figures(tenantId: string, ids: readonly number[]): Promise<Map<number, GroupFigures>> {
    const rows = await this.database.query<GroupFigures & { readonly id: number }>(FIGURES, [
      tenantId,
      [...ids],
    ]);
    return new Map(rows.map(({ id, ...figures }) => [id, figures]));
  }

  /** The direct members of a group: groups, then users, by name. */
  async members(tenantId: string, query: GroupMemberListQuery): Promise<Page<DirectMember>> {
    const { groupId, keyword = '' } = query;
    const parameters = [tenantId, groupId, keyword];
    const { take, skip } = rowsOf(query);
    const [count] = await this.database.query<{ total: number }>(
      `SELECT count(*)::int AS total ${MEMBERS}`,
      parameters,
    );
    const rows = await this.database.query<DirectMember>(
      `SELECT type, id, name, nick_name AS "nickName", source ${MEMBERS}
        ORDER BY type, lower(name), id LIMIT $4 OFFSET $5`,
      [...parameters, take, skip],
    );
    return new Page(rows, count?.total ?? 0);
  }

  private async idsOfUser(tenantId: string, userId: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      'SELECT group_id AS id FROM group_membership WHERE tenant_id = $1 AND user_id = $2',
      [tenantId, userId],
    );
    return rows.map(({ id }) => id);
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

  /** Makes each of the users a member of each of the groups. */
  async addMembers(
    tenantId: string,
    groupIds: readonly number[],
    userIds: readonly number[],
  ): Promise<void> {
    if (groupIds.length === 0 || userIds.length === 0) return;
    const pairs = [tenantId, [...groupIds], [...userIds]];
    await this.database.query(
      `INSERT INTO group_member (tenant_id, group_id, user_id)
       SELECT $1, g.id, u.id FROM unnest($2::bigint[]) AS g (id) CROSS JOIN unnest($3::bigint[]) AS u (id)
           ON CONFLICT DO NOTHING`,
      pairs,
    );
    await this.database.query(ENTER, pairs);
  }

  /** Removes each of the users from each of the groups. */
  async removeMembers(
    tenantId: string,
    groupIds: readonly number[],
    userIds: readonly number[],
  ): Promise<void> {
    if (groupIds.length === 0 || userIds.length === 0) return;
    const pairs = [tenantId, [...groupIds], [...userIds]];
    await this.database.query(
      `DELETE FROM group_member
        WHERE tenant_id = $1 AND group_id = ANY ($2::bigint[]) AND user_id = ANY ($3::bigint[])`,
      pairs,
    );
    await this.database.query(LEAVE, pairs);
  }

  /** Puts groups into a group. Throws InvalidInputError for a cycle and for more than MAX_GROUP_LEVELS levels. */
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

  /** The groups of the provider that the user is in by the values of its claim, by value. */
  async claimedOf(
    tenantId: string,
    providerId: number,
    userId: number,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query<{ id: number; value: string }>(
      `SELECT g.id, g.external_id AS value FROM group_member m
         JOIN user_group g ON g.id = m.group_id AND g.tenant_id = m.tenant_id
        WHERE m.tenant_id = $1 AND m.user_id = $3 AND g.provider_id = $2`,
      [tenantId, providerId, userId],
    );
    return new Map(rows.map(({ id, value }) => [value, id]));
  }

  /**
   * The groups of the values of a provider's claim. Creates those that are missing, up to MAX_CLAIMED_GROUPS of a provider;
   * values beyond are left out.
   */
  async ensureClaimed(
    tenantId: string,
    providerId: number,
    values: readonly string[],
  ): Promise<number[]> {
    if (values.length === 0) return [];
    await this.database.query(
      `INSERT INTO user_group (tenant_id, source, provider_id, display_name, external_id)
       SELECT $1::text, 'sso', $2::bigint, value, value FROM unnest($3::text[]) AS value
        WHERE NOT EXISTS (SELECT 1 FROM user_group
                           WHERE tenant_id = $1 AND provider_id = $2 AND external_id = value)
        LIMIT greatest(0, $4 - (SELECT count(*) FROM user_group WHERE tenant_id = $1 AND provider_id = $2))`,
      [tenantId, providerId, [...values], MAX_CLAIMED_GROUPS],
    );
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM user_group
        WHERE tenant_id = $1 AND provider_id = $2 AND external_id = ANY ($3::text[])`,
      [tenantId, providerId, [...values]],
    );
    return rows.map(({ id }) => id);
  }

  /** Takes every user out of the groups of the provider, which stay; or deletes these groups, too. */
  async endClaimed(
    tenantId: string,
    providerId: number,
    groups: 'kept' | 'deleted',
  ): Promise<void> {
    const rows = await this.groups.find(tenantId, { providerId });
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return;
    if (groups === 'deleted') await this.remove(tenantId, ids);
    else await this.removeMembers(tenantId, ids, await this.userIdsOf(tenantId, ids));
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
      throw new InvalidInputError(
        msg`A group cannot be inside of itself, also by way of other groups. Remove one of the groups first.`,
      );
    }
    if ((nesting?.levels ?? 0) > MAX_GROUP_LEVELS) {
      throw new InvalidInputError(
        msg`Groups can be inside of each other on at most ${MAX_GROUP_LEVELS} levels. Add the members to an outer group instead.`,
      );
    }
  }
}
