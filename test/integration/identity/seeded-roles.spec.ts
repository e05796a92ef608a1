import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { done, makeTenant, makeUser, roleId } from '../../support/people.js';
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
});
