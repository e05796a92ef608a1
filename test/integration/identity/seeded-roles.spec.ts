import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { userPermissions } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { SeededRoles1763683200039 } from '../../../src/platform/database/migrations/39-seeded-roles.js';
import { migrating } from '../../support/migration.js';
import { done, makeRole, makeTenant, makeUser, roleId } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

describe('the roles that a tenant begins with', () => {
  let plinth: Plinth;
  let boss: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    ({ admin: boss } = await makeTenant(plinth, await plinth.signIn(), '700039'));
  });

  afterAll(() => plinth.stop());

  function migrate(direction: 'up' | 'down'): Promise<void> {
    const migration = new SeededRoles1763683200039();
    return migrating(plinth.app.get(Database), (runner) => migration[direction](runner));
  }

  async function permissionsOf(role: number): Promise<string[]> {
    const { data } = done(await boss.get<{ permissions: string[] }>(`/system/role/${role}`));
    return data.permissions.sort();
  }

  it('let an ordinary user send files in the chat and read what answers quote', async () => {
    const { session } = await makeUser(plinth, boss, 'reader', [await roleId(boss, 'user')]);
    const base = { name: 'Shared', share: 1 };
    const kid = done(await boss.post<string>('/system/info', base)).data;

    const file = new FormData();
    file.append('file', new Blob(['Terms of the warranty.']), 'warranty.txt');
    expect((await session.upload('/resource/oss/upload', file)).code).toBe(200);
    for (const path of [`/system/attach/list?kid=${kid}`, `/system/fragment/list?kid=${kid}`]) {
      expect((await session.get(path)).code).toBe(200);
    }
    expect((await session.get('/resource/oss/list')).code).toBe(403);
    expect((await session.delete(`/system/info/${kid}`)).code).toBe(403);
  });

  it('are brought up to date in tenants of earlier releases, unless somebody has changed them', async () => {
    const user = await roleId(boss, 'user');
    const audits = ['monitor:audit:list', 'system:dict:list'];
    const auditor = await makeRole(boss, 'auditor', audits);
    const now = [...userPermissions].sort();
    expect(await permissionsOf(user)).toEqual(now);

    await migrate('down');
    expect(await permissionsOf(user)).not.toContain('system:oss:upload');
    expect(await permissionsOf(await roleId(boss, 'admin'))).not.toContain('monitor:use:query');
    for (let time = 0; time < 2; time += 1) await migrate('up');

    expect(await permissionsOf(user)).toEqual(now);
    expect(await permissionsOf(await roleId(boss, 'admin'))).toContain('monitor:use:query');
    expect(await permissionsOf(auditor)).toEqual(
      [...audits, 'monitor:usage:export', 'monitor:usage:query', 'monitor:use:query'].sort(),
    );

    await migrate('down');
    const chosen = ['system:session:list'];
    done(await boss.put('/system/role', { roleId: user, permissions: chosen }));
    await migrate('up');
    expect(await permissionsOf(user)).toEqual(chosen);
  });
});
