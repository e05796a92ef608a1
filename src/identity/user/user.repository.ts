import { Injectable } from '@nestjs/common';
import { And, In, Not } from 'typeorm';
import type { FindOperator, FindOptionsWhere } from 'typeorm';
import {
  acrossTenants,
  containing,
  createdWithin,
  Database,
  TenantScoped,
} from '../../platform/database/index.js';
import type { Page } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import type { RoleMemberQuery, UserListQuery } from './user.dto.js';
import { User } from './user.entity.js';

/** The enabled roles of a user and the groups that they are in. Runs when the revision of the tenant has changed. */
const RIGHTS = `
    SELECT r.id AS "roleId", r.role_key AS "roleKey", r.permissions, NULL::bigint AS "groupId", r.role_sort
      FROM user_role ur
      JOIN role r ON r.id = ur.role_id AND r.tenant_id = ur.tenant_id
     WHERE ur.tenant_id = $1 AND ur.user_id = $2 AND r.status = '0'
     UNION ALL
    SELECT NULL, NULL, NULL, group_id, NULL FROM group_membership
     WHERE tenant_id = $1 AND user_id = $2
     ORDER BY role_sort, "roleId", "groupId"`;

type RightsRow =
  | (ActiveRole & { readonly groupId: null })
  | { readonly roleId: null; readonly groupId: number };

/** An enabled role of a user. */
export interface ActiveRole {
  readonly roleId: number;
  readonly roleKey: string;
  readonly permissions: readonly string[];
}

@Injectable()
export class UserRepository {
  readonly users: TenantScoped<User>;

  constructor(private readonly database: Database) {
    this.users = new TenantScoped(database, User, msg`The user`);
  }

  /** `memberIds` are the users that have the role of the query; undefined for a query without one. */
  async page(
    tenantId: string,
    query: UserListQuery,
    memberIds: readonly number[] | undefined,
  ): Promise<Page<User>> {
    const { userName, nickName, keyword, phonenumber, status } = query;
    const where: FindOptionsWhere<User> = {
      ...(memberIds && { id: In([...memberIds]) }),
      ...(userName && { userName: containing(userName) }),
      ...(nickName && { nickName: containing(nickName) }),
      ...(phonenumber && { phonenumber: containing(phonenumber) }),
      ...(status && { status }),
      ...createdWithin(query.params),
    };
    return this.users.page(tenantId, query, keyword ? searching(keyword, where) : where, {
      id: 'DESC',
    });
  }

  /** The users that have a role, or those that lack it; `memberIds` are the users that have it. */
  async pageByRole(
    tenantId: string,
    query: RoleMemberQuery,
    which: 'having' | 'lacking',
    memberIds: readonly number[],
  ): Promise<Page<User>> {
    const { userName, phonenumber } = query;
    const members = In([...memberIds]);
    const where = {
      id: which === 'having' ? members : Not(members),
      ...(userName && { userName: containing(userName) }),
      ...(phonenumber && { phonenumber: containing(phonenumber) }),
    };
    return this.users.page(tenantId, query, where, { id: 'DESC' });
  }

  /** The user with the name, ignoring case. */
  async byName(tenantId: string, userName: string): Promise<User | null> {
    return this.users.rows
      .createQueryBuilder('u')
      .where('u.tenant_id = :tenantId', { tenantId })
      .andWhere('lower(u.user_name) = lower(:userName)', { userName })
      .getOne();
  }

  /**
   * The name as the unique index of user names compares it. Names are compared by PostgreSQL alone: its rules for upper and
   * lower case depend on the collation and differ from those of JavaScript.
   */
  async foldedName(userName: string): Promise<string> {
    const [row] = await this.database.query<{ folded: string }>(
      'SELECT lower($1::text) AS folded',
      [userName],
    );
    return row?.folded ?? userName;
  }

  /** The name of the user if they are enabled and their tenant is enabled and has not expired. */
  async active(tenantId: string, userId: number): Promise<{ userName: string } | undefined> {
    const [row] = await this.database.query<{ userName: string }>(
      `SELECT u.user_name AS "userName" FROM user_account u JOIN tenant t ON t.tenant_id = u.tenant_id
        WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = '0'
          AND (t.tenant_id = '000000'
               OR (t.status = '0' AND (t.expire_time IS NULL OR t.expire_time > now())))`,
      [tenantId, userId],
    );
    return row;
  }

  /** The enabled roles of the user, and the ids of the groups that they are in, directly or by other groups. */
  async rightsOf(
    tenantId: string,
    userId: number,
  ): Promise<{ readonly roles: readonly ActiveRole[]; readonly groupIds: readonly number[] }> {
    const rows = await this.database.prepared<RightsRow>(RIGHTS, [tenantId, userId]);
    return {
      roles: rows.filter((row) => row.groupId === null),
      groupIds: rows.flatMap(({ groupId }) => groupId ?? []),
    };
  }

  /**
   * Whether a user other than the given ones can sign in with a password: all can, or a break-glass user can. Super
   * administrators of the installation's tenant always can, and there always is one.
   */
  async hasPasswordSignIn(tenantId: string, exceptUserIds: readonly number[]): Promise<boolean> {
    const [row] = await this.database.query<{ has: boolean }>(
      `SELECT t.tenant_id = '000000' OR t.password_login OR EXISTS (
                SELECT 1 FROM user_account u
                 WHERE u.tenant_id = t.tenant_id AND u.break_glass AND u.status = '0'
                   AND u.password_hash <> ''
                   AND u.id <> ALL ($2::bigint[])) AS has
         FROM tenant t WHERE t.tenant_id = $1`,
      [tenantId, [...exceptUserIds]],
    );
    return row?.has ?? true;
  }

  async byIds(tenantId: string, ids: readonly number[]): Promise<User[]> {
    return this.users.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  /** Whether the limit of users of the tenant allows one more. */
  async canAddUser(tenantId: string): Promise<boolean> {
    const [row] = await this.database.query<{ room: boolean }>(
      `SELECT account_count < 0 OR account_count >
              (SELECT count(*) FROM user_account u WHERE u.tenant_id = t.tenant_id) AS room
         FROM tenant t WHERE t.tenant_id = $1`,
      [tenantId],
    );
    return row?.room ?? false;
  }

  /**
   * Deletes the users; foreign keys cascade to what they own. Removes their names and addresses from the audit log of
   * every tenant they acted in, and from failed sign-ins with their names.
   */
  async erase(tenantId: string, users: readonly User[]): Promise<void> {
    const ids = users.map(({ id }) => id);
    const names = users.map(({ userName }) => userName);
    await acrossTenants('salts of the entries of an erased user', () =>
      this.database.query(
        `UPDATE audit_link l SET salt = NULL FROM audit_entry e
          WHERE e.tenant_id = l.tenant_id AND e.id = l.entry_id
            AND (e.actor_id = ANY ($1::bigint[]) OR e.tenant_id = $2 AND e.actor_id IS NULL
              AND lower(e.actor_name) IN (SELECT lower(name) FROM unnest($3::text[]) AS name))`,
        [ids, tenantId, names],
      ),
    );
    await this.database.query("SET LOCAL plinth.erasing = 'on'");
    await acrossTenants('erasure of a user', () =>
      this.database.query(
        'UPDATE audit_entry SET actor_name = NULL, ip = NULL WHERE actor_id = ANY ($1::bigint[])',
        [ids],
      ),
    );
    await this.database.query(
      `UPDATE audit_entry SET actor_name = NULL, ip = NULL
        WHERE tenant_id = $1 AND actor_id IS NULL AND lower(actor_name) IN (SELECT lower(name) FROM unnest($2::text[]) AS name)`,
      [tenantId, names],
    );
    await this.database.query("SET LOCAL plinth.erasing = 'off'");
    await this.users.remove(tenantId, ids);
  }
}

/** The users whose user name, display name or e-mail address has the keyword in it, among those of `where`. */
function searching(keyword: string, where: FindOptionsWhere<User>): FindOptionsWhere<User>[] {
  const condition = containing(keyword);
  const { userName, nickName } = where as { userName?: FindOperator<string> } & {
    nickName?: FindOperator<string>;
  };
  return [
    { ...where, userName: userName ? And(userName, condition) : condition },
    { ...where, nickName: nickName ? And(nickName, condition) : condition },
    { ...where, email: condition },
  ];
}
