import { permissionCatalogue } from '../../../src/platform/access/index.js';
import { createModel, createProvider } from '../models.js';
import {
  done,
  makeRole,
  makeTenant,
  makeUser,
  PASSWORD,
  PERMISSIONS_WITHOUT_ADMINISTERING,
} from '../people.js';
import type { Plinth } from '../plinth.js';
import type { Session } from '../session.js';

/** Somebody who is signed in. */
export interface Member {
  readonly session: Session;
  readonly name: string;
  readonly tenantId: string;
}

/** Who is there: the people of one tenant, those of another, and those who run the installation. */
export interface World {
  readonly plinth: Plinth;
  /** Owns what the others must not see; an administrator of tenant 300001, without the view over all records. */
  readonly owner: Member;
  /** Another administrator of the same tenant. */
  readonly colleague: Member;
  /** A user of the same tenant without a permission. */
  readonly nobody: Member;
  /** Was an administrator of the same tenant when the token was issued. */
  readonly disabled: Member;
  /** A user of the same tenant whose role has the permissions of the whole installation. */
  readonly overgranted: Member;
  /** The administrator of tenant 300002. */
  readonly neighbour: Member;
  /** The super administrator, at home. */
  readonly root: Member;
  /** The super administrator, switched to tenant 300001. */
  readonly visitor: Member;
}

export const HOME = '000000';
const OWNED = '300001';
const OTHER = '300002';

/** A chat model of this name is in every tenant. Nobody listens at its address. */
export const COMMON_MODEL = 'common-model';

/** A provider with this code is in every tenant. */
export const COMMON_PROVIDER = 'custom_api';

export async function createWorld(plinth: Plinth): Promise<World> {
  const root = { session: await plinth.signIn(), name: 'admin', tenantId: HOME };
  const owned = await makeTenant(plinth, root.session, OWNED);
  const other = await makeTenant(plinth, root.session, OTHER);
  const visitor = { ...root, session: await plinth.signIn() };
  done(await visitor.session.get(`/system/tenant/dynamic/${OWNED}`));
  const adminRole = await makeRole(owned.admin, 'peer', PERMISSIONS_WITHOUT_ADMINISTERING);
  const member = async (name: string, roles: readonly number[]): Promise<Member> => {
    const { session } = await makeUser(plinth, owned.admin, name, roles);
    return { session, name, tenantId: OWNED };
  };
  for (const session of [root.session, owned.admin, other.admin]) await giveModel(session);
  return {
    plinth,
    owner: await member('owner', [adminRole]),
    colleague: await member('colleague', [adminRole]),
    nobody: await member('nobody', [await makeRole(owned.admin, 'powerless', [])]),
    disabled: await disable(await member('disabled', [adminRole]), owned.admin),
    overgranted: await overgrant(plinth, visitor.session),
    neighbour: { session: other.admin, name: 'boss', tenantId: OTHER },
    root,
    visitor,
  };
}

async function giveModel(session: Session): Promise<void> {
  const { rows } = done(await session.get<{ providerCode: string }[]>('/system/provider/list'));
  if (!rows.some(({ providerCode }) => providerCode === COMMON_PROVIDER)) {
    await createProvider(session, COMMON_PROVIDER);
  }
  const apiHost = 'http://127.0.0.1:9';
  await createModel(session, { modelName: COMMON_MODEL, apiHost, supportsTools: true });
}

async function disable(member: Member, by: Session): Promise<Member> {
  const { rows } = done(
    await by.get<{ userId: number }[]>(`/system/user/list?userName=${member.name}`),
  );
  done(await by.put('/system/user/changeStatus', { userId: rows[0]?.userId, status: '1' }));
  return member;
}

async function overgrant(plinth: Plinth, visitor: Session): Promise<Member> {
  const all = permissionCatalogue.map(({ permission }) => permission);
  const role = await makeRole(visitor, 'overgranted', all);
  const name = 'overgranted';
  done(await visitor.post('/system/user', { userName: name, password: PASSWORD, roleIds: [role] }));
  return { session: await plinth.signIn(name, PASSWORD, OWNED), name, tenantId: OWNED };
}
