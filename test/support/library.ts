import { done, makeRole, makeTenant, makeUser } from './people.js';
import type { Person } from './people.js';
import type { Plinth } from './plinth.js';
import type { Session } from './session.js';

const VERBS = ['list', 'query', 'add', 'edit', 'remove'];

/** Everything that may be done with knowledge bases and what they hold. */
export const LIBRARY_PERMISSIONS = [
  ...['info', 'attach', 'fragment'].flatMap((area) =>
    VERBS.map((verb) => `system:${area}:${verb}`),
  ),
  'access:grant',
  'access:publish',
];

/** The people of the question who may reach a knowledge base. All but `admin` have the same permissions. */
export interface Library {
  /** The super administrator. */
  readonly admin: Session;
  /** Two ordinary users of the tenant 000000. */
  readonly owner: Person;
  readonly other: Person;
  /** Of another tenant. */
  readonly stranger: Session;
}

export async function openLibrary(plinth: Plinth): Promise<Library> {
  const admin = await plinth.signIn();
  const role = await makeRole(admin, 'librarian', [...LIBRARY_PERMISSIONS, 'system:model:list']);
  const { admin: stranger } = await makeTenant(plinth, admin, '700040');
  return {
    admin,
    owner: await makeUser(plinth, admin, 'owner', [role]),
    other: await makeUser(plinth, admin, 'other', [role]),
    stranger,
  };
}

/** Shares a knowledge base within its tenant, or takes that back. */
export async function share(by: Session, id: number, value: 0 | 1): Promise<void> {
  done(await by.put('/system/info', { id, share: value }));
}
