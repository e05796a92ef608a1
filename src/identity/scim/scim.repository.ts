import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { conditionOf } from './scim.condition.js';
import type { FilterColumn } from './scim.condition.js';
import type { Filter } from './scim.filter.js';

/** A user as SCIM shows them. */
export interface UserRow {
  readonly id: number;
  readonly userName: string;
  readonly nickName: string;
  readonly email: string | null;
  readonly phonenumber: string | null;
  readonly status: string;
  readonly createTime: Date;
  readonly updateTime: Date;
  readonly externalId: string | null;
  readonly givenName: string | null;
  readonly familyName: string | null;
}

export interface GroupRow {
  readonly id: number;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createTime: Date;
  readonly updateTime: Date;
  readonly memberCount: number;
}

/** A direct member of a group. */
export interface MemberRow {
  readonly groupId: number;
  readonly type: 'User' | 'Group';
  readonly id: number;
  readonly name: string;
}

/** A group that a user is in. */
export interface UserGroupRow {
  readonly userId: number;
  readonly id: number;
  readonly name: string;
  readonly isDirect: boolean;
}

export interface Slice {
  readonly filter: Filter | undefined;
  readonly offset: number;
  readonly limit: number;
}

interface Profile {
  readonly externalId: string | null;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly created: boolean;
}

const EMAIL = "nullif(u.email, '')";
const PHONE = "nullif(u.phonenumber, '')";

/** The attributes of users that a filter can name. */
const USER_ATTRIBUTES: Readonly<Record<string, FilterColumn>> = {
  id: { sql: 'u.id::text', kind: 'exact' },
  username: { sql: 'u.user_name', kind: 'text' },
  externalid: { sql: 'p.external_id', kind: 'exact' },
  displayname: { sql: 'u.nick_name', kind: 'text' },
  'name.formatted': { sql: 'u.nick_name', kind: 'text' },
  'name.givenname': { sql: 'p.given_name', kind: 'text' },
  'name.familyname': { sql: 'p.family_name', kind: 'text' },
  active: { sql: "(u.status = '0')", kind: 'flag' },
  emails: { sql: EMAIL, kind: 'text' },
  'emails.value': { sql: EMAIL, kind: 'text' },
  'emails.type': { sql: `CASE WHEN ${EMAIL} IS NOT NULL THEN 'work' END`, kind: 'text' },
  'emails.primary': { sql: `(${EMAIL} IS NOT NULL)`, kind: 'flag' },
  phonenumbers: { sql: PHONE, kind: 'text' },
  'phonenumbers.value': { sql: PHONE, kind: 'text' },
  'phonenumbers.type': { sql: `CASE WHEN ${PHONE} IS NOT NULL THEN 'work' END`, kind: 'text' },
  'meta.created': { sql: 'u.create_time', kind: 'time' },
  'meta.lastmodified': { sql: 'u.update_time', kind: 'time' },
};

/** The direct members of a group: users and groups. */
const MEMBERS = `(
    SELECT user_id AS id, 'User' AS type FROM group_member WHERE tenant_id = g.tenant_id AND group_id = g.id
     UNION ALL
    SELECT child_id, 'Group' FROM group_child WHERE tenant_id = g.tenant_id AND group_id = g.id)`;

function memberColumn(sql: string, kind: FilterColumn['kind']): FilterColumn {
  return {
    sql,
    kind,
    within: (comparison) => `EXISTS (SELECT 1 FROM ${MEMBERS} m WHERE ${comparison})`,
  };
}
const MEMBER = memberColumn('m.id::text', 'exact');

const GROUP_ATTRIBUTES: Readonly<Record<string, FilterColumn>> = {
  id: { sql: 'g.id::text', kind: 'exact' },
  displayname: { sql: 'g.display_name', kind: 'text' },
  externalid: { sql: 'g.external_id', kind: 'exact' },
  members: MEMBER,
  'members.value': MEMBER,
  'members.type': memberColumn('m.type', 'text'),
  'meta.created': { sql: 'g.create_time', kind: 'time' },
  'meta.lastmodified': { sql: 'g.update_time', kind: 'time' },
};

/** Users that a directory may see: people, and neither those who run the installation nor those who must always get in. */
const PEOPLE = `u.user_type <> 'service' AND NOT u.break_glass AND NOT EXISTS (
    SELECT 1 FROM user_role ur JOIN role r ON r.id = ur.role_id AND r.tenant_id = ur.tenant_id
     WHERE ur.tenant_id = u.tenant_id AND ur.user_id = u.id AND r.role_key = 'superadmin')`;

const USERS = `FROM user_account u
    LEFT JOIN provisioned_user p ON p.user_id = u.id AND p.tenant_id = u.tenant_id
   WHERE u.tenant_id = $1 AND ${PEOPLE}`;

const USER_COLUMNS = `u.id, u.user_name AS "userName", u.nick_name AS "nickName", u.email, u.phonenumber, u.status,
    u.create_time AS "createTime", u.update_time AS "updateTime", p.external_id AS "externalId",
    p.given_name AS "givenName", p.family_name AS "familyName"`;

const GROUP_COLUMNS = `g.id, g.display_name AS "displayName", g.external_id AS "externalId",
    g.create_time AS "createTime", g.update_time AS "updateTime",
    (SELECT count(*) FROM ${MEMBERS} m)::int AS "memberCount"`;

/** The roles that groups of a directory give: those that the mapping of a provisioned provider names with the name or id of the group. */
const ROLES_OF = `
  SELECT DISTINCT m.user_id AS "userId", r.id AS "roleId"
    FROM group_membership m
    JOIN user_group g ON g.id = m.group_id AND g.tenant_id = m.tenant_id AND g.source = 'scim'
    JOIN sso_provider s ON s.tenant_id = m.tenant_id AND s.provisioned AND s.status = '0'
   CROSS JOIN LATERAL jsonb_to_recordset(s.role_mapping) AS mapping(value text, "roleId" bigint)
    JOIN role r ON r.id = mapping."roleId" AND r.tenant_id = m.tenant_id AND r.role_key <> 'superadmin'
   WHERE m.tenant_id = $1 AND m.user_id = ANY ($2::bigint[])
     AND mapping.value IN (g.display_name, g.external_id)`;

/** Users and groups as a directory sees them, and what it says of them. */
@Injectable()
export class ScimRepository {
  constructor(private readonly database: Database) {}

  async users(
    tenantId: string,
    { filter, offset, limit }: Slice,
  ): Promise<{ readonly rows: readonly UserRow[]; readonly total: number }> {
    const parameters: unknown[] = [tenantId];
    const where = filter ? ` AND ${conditionOf(filter, USER_ATTRIBUTES, parameters)}` : '';
    const total = await this.total(`SELECT count(*)::int AS total ${USERS}${where}`, parameters);
    const rows = await this.database.query<UserRow>(
      `SELECT ${USER_COLUMNS} ${USERS}${where} ORDER BY u.id ${sliceAfter(parameters)}`,
      [...parameters, limit, offset],
    );
    return { rows, total };
  }

  async user(tenantId: string, id: number): Promise<UserRow | undefined> {
    const [row] = await this.database.query<UserRow>(
      `SELECT ${USER_COLUMNS} ${USERS} AND u.id = $2`,
      [tenantId, id],
    );
    return row;
  }

  /** The ids among the given ones of users that a directory may see. */
  async visibleIds(tenantId: string, ids: readonly number[]): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT u.id ${USERS} AND u.id = ANY ($2::bigint[])`,
      [tenantId, [...ids]],
    );
    return rows.map(({ id }) => id);
  }

  async profile(tenantId: string, userId: number): Promise<Profile | undefined> {
    const [row] = await this.database.query<Profile>(
      `SELECT external_id AS "externalId", given_name AS "givenName", family_name AS "familyName", created
         FROM provisioned_user WHERE tenant_id = $1 AND user_id = $2`,
      [tenantId, userId],
    );
    return row;
  }

  /** Replaces the profile. Call it in a transaction. */
  async saveProfile(tenantId: string, userId: number, profile: Profile): Promise<void> {
    const { externalId, givenName, familyName, created } = profile;
    await this.database.query(
      'DELETE FROM provisioned_user WHERE tenant_id = $1 AND user_id = $2',
      [tenantId, userId],
    );
    await this.database.query(
      `INSERT INTO provisioned_user (tenant_id, user_id, external_id, given_name, family_name, created)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [tenantId, userId, externalId, givenName, familyName, created],
    );
  }

  /** The user with the id of the directory, one whom a directory may not see included. */
  async userIdOf(tenantId: string, externalId: string): Promise<number | undefined> {
    const [row] = await this.database.query<{ userId: number }>(
      'SELECT user_id AS "userId" FROM provisioned_user WHERE tenant_id = $1 AND external_id = $2',
      [tenantId, externalId],
    );
    return row?.userId;
  }

  /**
   * The user whom provisioning has created with one of the ids and who has not signed in by any provider yet; undefined
   * where the ids name two.
   */
  async findProvisionedUser(
    tenantId: string,
    externalIds: readonly string[],
  ): Promise<number | undefined> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT u.id ${USERS} AND p.created AND p.external_id = ANY ($2::text[]) AND NOT EXISTS (
         SELECT 1 FROM sso_identity i WHERE i.tenant_id = u.tenant_id AND i.user_id = u.id)`,
      [tenantId, [...externalIds]],
    );
    return rows.length === 1 ? rows[0]?.id : undefined;
  }

  async groups(
    tenantId: string,
    { filter, offset, limit }: Slice,
  ): Promise<{ readonly rows: readonly GroupRow[]; readonly total: number }> {
    const parameters: unknown[] = [tenantId];
    const where = filter ? ` AND ${conditionOf(filter, GROUP_ATTRIBUTES, parameters)}` : '';
    const from = `FROM user_group g WHERE g.tenant_id = $1 AND g.source = 'scim'${where}`;
    const total = await this.total(`SELECT count(*)::int AS total ${from}`, parameters);
    const rows = await this.database.query<GroupRow>(
      `SELECT ${GROUP_COLUMNS} ${from} ORDER BY g.id ${sliceAfter(parameters)}`,
      [...parameters, limit, offset],
    );
    return { rows, total };
  }

  async group(tenantId: string, id: number): Promise<GroupRow | undefined> {
    const [row] = await this.database.query<GroupRow>(
      `SELECT ${GROUP_COLUMNS} FROM user_group g
        WHERE g.tenant_id = $1 AND g.source = 'scim' AND g.id = $2`,
      [tenantId, id],
    );
    return row;
  }

  /** The groups with the name, whatever the case of its letters, or with the id of the directory. */
  async groupsLike(
    tenantId: string,
    displayName: string,
    externalId: string | null,
  ): Promise<readonly { readonly id: number; readonly externalId: string | null }[]> {
    return this.database.query(
      `SELECT id, external_id AS "externalId" FROM user_group
        WHERE tenant_id = $1 AND source = 'scim' AND (lower(display_name) = lower($2) OR external_id = $3)`,
      [tenantId, displayName, externalId],
    );
  }

  /** The users in the groups whom a directory may see, and the groups in them. */
  async members(tenantId: string, groupIds: readonly number[]): Promise<MemberRow[]> {
    if (groupIds.length === 0) return [];
    return this.database.query<MemberRow>(
      `SELECT m.group_id AS "groupId", 'User' AS type, u.id, u.user_name AS name
         FROM group_member m
         JOIN user_account u ON u.id = m.user_id AND u.tenant_id = m.tenant_id
        WHERE m.tenant_id = $1 AND m.group_id = ANY ($2::bigint[]) AND ${PEOPLE}
        UNION ALL
       SELECT c.group_id, 'Group', g.id, g.display_name
         FROM group_child c
         JOIN user_group g ON g.id = c.child_id AND g.tenant_id = c.tenant_id
        WHERE c.tenant_id = $1 AND c.group_id = ANY ($2::bigint[])
        ORDER BY "groupId", type DESC, id`,
      [tenantId, [...groupIds]],
    );
  }

  /** The groups of the users, and how they are in them: directly, or by groups in these. */
  async groupsOf(tenantId: string, userIds: readonly number[]): Promise<UserGroupRow[]> {
    if (userIds.length === 0) return [];
    return this.database.query<UserGroupRow>(
      `SELECT s.user_id AS "userId", g.id, g.display_name AS name, m.user_id IS NOT NULL AS "isDirect"
         FROM group_membership s
         JOIN user_group g ON g.id = s.group_id AND g.tenant_id = s.tenant_id AND g.source = 'scim'
         LEFT JOIN group_member m
                ON m.group_id = s.group_id AND m.user_id = s.user_id AND m.tenant_id = s.tenant_id
        WHERE s.tenant_id = $1 AND s.user_id = ANY ($2::bigint[])
        ORDER BY s.user_id, g.id`,
      [tenantId, [...userIds]],
    );
  }

  /** The ids among the given ones of groups that a directory may see. */
  async visibleGroupIds(tenantId: string, ids: readonly number[]): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM user_group WHERE tenant_id = $1 AND source = 'scim' AND id = ANY ($2::bigint[])`,
      [tenantId, [...ids]],
    );
    return rows.map(({ id }) => id);
  }

  /** The roles that the groups of the users give them, by user id; users without any are left out. */
  async rolesOf(tenantId: string, userIds: readonly number[]): Promise<Map<number, number[]>> {
    const rows = await this.database.query<{ userId: number; roleId: number }>(ROLES_OF, [
      tenantId,
      [...userIds],
    ]);
    const roles = new Map<number, number[]>();
    for (const { userId, roleId } of rows) {
      roles.set(userId, [...(roles.get(userId) ?? []), roleId]);
    }
    return roles;
  }

  private async total(statement: string, parameters: readonly unknown[]): Promise<number> {
    const [row] = await this.database.query<{ total: number }>(statement, [...parameters]);
    return row?.total ?? 0;
  }
}

function sliceAfter({ length }: readonly unknown[]): string {
  return `LIMIT $${length + 1} OFFSET $${length + 2}`;
}
