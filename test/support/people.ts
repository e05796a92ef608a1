import { tenantAdminPermissions } from '../../src/platform/access/index.js';
import type { Plinth } from './plinth.js';
import type { Answer, Session } from './session.js';

export const PASSWORD = 'pass-word-1';

/** Everything that a role of a tenant can have but the view over all records, so that grants alone decide on records. */
export const PERMISSIONS_WITHOUT_ADMINISTERING: readonly string[] = tenantAdminPermissions.filter(
  (permission) => permission !== 'access:administer',
);

export interface Person {
  readonly id: number;
  readonly name: string;
  readonly session: Session;
}

/** The answer, or an error that says what went wrong in a step that only prepares a test. */
export function done<Data>(answer: Answer<Data>): Answer<Data> {
  if (answer.code !== 200) throw new Error(`A preparing step failed: ${answer.code} ${answer.msg}`);
  return answer;
}

/** Makes a role in the tenant of the session and answers its id. */
export async function makeRole(
  by: Session,
  roleKey: string,
  permissions: readonly string[],
): Promise<number> {
  done(await by.post('/system/role', { roleName: roleKey, roleKey, permissions }));
  return roleId(by, roleKey);
}

export async function roleId(by: Session, roleKey: string): Promise<number> {
  const { rows } = done(await by.get<{ roleId: number; roleKey: string }[]>('/system/role/list'));
  const found = rows.find((role) => role.roleKey === roleKey);
  if (!found) throw new Error(`There is no role ${roleKey}.`);
  return found.roleId;
}

/** Makes a user in the tenant of the session and signs it in. */
export async function makeUser(
  plinth: Plinth,
  by: Session,
  name: string,
  roleIds: readonly number[] = [],
): Promise<Person> {
  done(await by.post('/system/user', { userName: name, password: PASSWORD, roleIds }));
  const { rows } = done(
    await by.get<{ userId: number; userName: string; tenantId: string }[]>(
      `/system/user/list?userName=${name}`,
    ),
  );
  const found = rows.find((user) => user.userName === name);
  if (!found) throw new Error(`There is no user ${name}.`);
  return {
    id: found.userId,
    name,
    session: await plinth.signIn(name, PASSWORD, found.tenantId),
  };
}

/** Makes a tenant and answers its first administrator, signed in. */
export async function makeTenant(
  plinth: Plinth,
  by: Session,
  tenantId: string,
): Promise<{ id: number; tenantId: string; admin: Session }> {
  done(
    await by.post('/system/tenant', {
      companyName: `Company ${tenantId}`,
      tenantId,
      username: 'boss',
      password: PASSWORD,
    }),
  );
  const { rows } = done(await by.get<{ id: number }[]>(`/system/tenant/list?tenantId=${tenantId}`));
  const [tenant] = rows;
  if (!tenant) throw new Error(`There is no tenant ${tenantId}.`);
  return { id: tenant.id, tenantId, admin: await plinth.signIn('boss', PASSWORD, tenantId) };
}
