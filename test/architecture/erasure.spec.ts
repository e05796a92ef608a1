import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BlobStore } from '../../src/harness/change/blob.store.js';
import { makeKey } from '../support/api-keys.js';
import { longText, PIXELS, uploadFile } from '../support/chat-files.js';
import { file, fresh } from '../support/isolation/records.js';
import { recordSession } from '../support/isolation/harness.records.js';
import { references } from '../support/isolation/references.js';
import { createWorld } from '../support/isolation/world.js';
import type { Member, World } from '../support/isolation/world.js';
import { recordTask } from '../support/media/recorded-task.js';
import { done, makeTenant, makeUser, PASSWORD, roleId } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import { recordResponse } from '../support/recorded-response.js';
import { recordSteps } from '../support/recorded-steps.js';
import { OneTimeCodes } from '../support/second-factor.js';
import type { Session } from '../support/session.js';
import { contentOf, rowsOf } from '../support/tables.js';

const OWN_MODEL = {
  ...{ providerCode: 'custom_api', category: 'chat', modelName: 'common-model' },
  ...{ apiHost: 'http://127.0.0.1:9', supportsTools: true },
};

let plinth: Plinth;
let world: World;

beforeAll(async () => {
  plinth = await Plinth.start();
  world = await createWorld(plinth);
});

afterAll(() => plinth.stop());

/** The rows, of whatever table, that hold the text anywhere, in any case of its letters. */
async function rowsWith(text: string): Promise<string[]> {
  const rows = await rowsOf(plinth);
  return rows.filter((row) => row.toLowerCase().includes(text.toLowerCase()));
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .sort();
}

/** Leaves a trace in everything that a user can fill. */
async function leaveTraces(mark: string, session: Session): Promise<void> {
  done(
    await session.put('/system/user/profile', {
      nickName: `${mark} nick`,
      email: `${mark}@example.com`,
      phonenumber: `+${mark}`.slice(0, 20),
    }),
  );
  await makeKey(session, { name: `${mark} key` });
  const title = { sessionTitle: `${mark} title`, sessionContent: `${mark} content`, remark: mark };
  const sessionId = done(await session.post<string>('/system/session', title)).data;
  done(await session.put('/system/session', { id: sessionId, conversationId: mark }));
  const message = { sessionId, role: 'user', content: `${mark} said`, remark: mark };
  done(await session.post('/system/message', message));
  const answer = { ...message, role: 'assistant', content: `${mark} answered` };
  const answerId = done(await session.post<string>('/system/message', answer)).data;
  const vote = { vote: 'down', text: `${mark} thought` };
  done(await session.put(`/chat/feedback/${answerId}`, vote));
  await session.raw(
    'POST',
    '/chat/send',
    { model: 'common-model', content: `${mark} asked`, sessionId },
    { 'idempotency-key': mark },
  );
  await session.raw('POST', '/chat/send', { model: `${mark}-model`, content: mark });
  const files = [
    await uploadFile(session, `${mark}.png`, PIXELS['image/png']),
    await uploadFile(session, `${mark} note.txt`, `What ${mark} noted.`),
    await uploadFile(session, `${mark} book.txt`, longText(mark, 20_000)),
  ];
  const question = { model: 'common-model', content: `${mark} asked of files`, sessionId, files };
  // The stream of a detached answer is stored.
  const asked = { ...question, detach: true };
  await session.raw('POST', '/chat/send', asked);
  const { rows } = done(
    await session.get<{ files: { state: string }[] }[]>(
      `/system/message/list?sessionId=${sessionId}&content=of files`,
    ),
  );
  expect(rows[0]?.files.map(({ state }) => state)).toEqual(['sent', 'quoted', 'searched']);
  await session.get(`/system/session/list?sessionTitle=${mark}`);
  await recordSteps(plinth, session, `${mark} searched`);
  await recordResponse(plinth, session, `${mark} responded`);
  await recordTask(plinth, session, `${mark} filmed`);
  await recordSession(plinth, session, `${mark} programmed`);
}

/** From then on a password alone does not sign the user in. */
async function leaveSecondFactor(mark: string, session: Session): Promise<void> {
  const path = '/system/user/profile/second-factor';
  const { data } = done(
    await session.post<{ challenge: string; secret: string }>(path, {
      kind: 'totp',
      password: PASSWORD,
    }),
  );
  const code = new OneTimeCodes(data.secret).next();
  const { challenge } = data;
  done(await session.post(`${path}/confirm`, { challenge, code, name: `${mark} phone` }));
}

describe('a deleted user', () => {
  it('leaves no text of its own in any row', async () => {
    const mark = 'zebrafinch';
    const { owner, plinth: running } = world;
    const role = await roleId(owner.session, 'peer');
    const doomed = await makeUser(running, owner.session, mark, [role]);
    const uploads = join(plinth.dataDir, 'files');
    mkdirSync(uploads, { recursive: true });
    const filesBefore = filesIn(uploads);
    await leaveTraces(mark, doomed.session);
    await leaveSecondFactor(mark, doomed.session);
    const wrong = {
      username: mark.toUpperCase(),
      password: 'not-the-password',
      tenantId: owner.tenantId,
    };
    const { clientid } = doomed.session.headers;
    const login = { ...wrong, clientId: clientid, grantType: 'password' };
    expect(await plinth.anonymous().post('/auth/login', login)).not.toMatchObject({ code: 200 });
    const changed = { userId: doomed.id, remark: mark, userName: `${mark}2` };
    done(await owner.session.put('/system/user', changed));
    done(await owner.session.put('/system/user', { ...changed, userName: mark }));

    expect((await rowsWith(mark)).length).toBeGreaterThan(20);
    expect(filesIn(uploads).length).toBe(filesBefore.length + 3);
    done(await owner.session.delete(`/system/user/${doomed.id}`));
    expect(await rowsWith(mark)).toEqual([]);
    expect(filesIn(uploads)).toEqual(filesBefore);
    expect(await doomed.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });

  it('can be followed by another of the same name, who finds nothing', async () => {
    const { owner, plinth: running } = world;
    const role = await roleId(owner.session, 'peer');
    const first = await makeUser(running, owner.session, 'phoenix', [role]);
    await leaveTraces('phoenix', first.session);
    done(await owner.session.delete(`/system/user/${first.id}`));
    const second = await makeUser(running, owner.session, 'phoenix', [role]);

    expect(second.id).not.toBe(first.id);
    expect(await second.session.get('/system/session/list')).toMatchObject({ total: 0 });
    expect(await second.session.get('/system/message/list')).toMatchObject({ total: 0 });
    expect(await first.session.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });
});

describe('a deleted tenant', () => {
  it('leaves nothing but the word that it was deleted', async () => {
    const filesBefore = filesIn(plinth.dataDir);
    const contentBefore = await contentOf(plinth);
    const { id, admin } = await makeTenant(plinth, world.root.session, '314271');
    const boss: Member = { session: admin, name: 'boss', tenantId: '314271' };
    done(await admin.put('/system/user/profile', { nickName: 'quetzal' }));
    done(
      await admin.post('/system/provider', { providerName: 'quetzal', providerCode: 'custom_api' }),
    );
    done(await admin.post('/system/model', OWN_MODEL));
    await leaveTraces('quetzal', admin);
    await makeOneOfEach(boss);
    await file.make(boss, world);
    await leaveSecondFactor('quetzal', admin);
    await plinth.app.get(BlobStore, { strict: false }).put('314271', Buffer.from('quetzal'));
    if (!process.env['DATABASE_URL']) await useOwnWorkspace(admin);
    expect(filesIn(plinth.dataDir).length).toBeGreaterThan(filesBefore.length + 1);

    const mine = (row: string): boolean => row.includes('314271') || row.includes('quetzal');
    expect((await rowsOf(plinth)).filter(mine).length).toBeGreaterThan(60);
    await expectHeld(admin, () => world.root.session.delete<null>(`/system/tenant/${id}`));
    done(await world.root.session.delete(`/system/tenant/${id}`));
    const left = (await rowsOf(plinth)).filter(mine);

    expect(left.filter((row) => !row.startsWith('audit_entry:'))).toEqual([]);
    // The installation's own log says who made and who deleted the tenant.
    expect(left.map((row) => /"action": "([\w-]+)"/.exec(row)?.[1]).sort()).toEqual([
      'create',
      'delete',
    ]);
    expect(left.every((row) => row.includes('"tenant_id": "000000"'))).toBe(true);
    expect(filesIn(plinth.dataDir)).toEqual(filesBefore);
    // The log has two entries more, and the own tenant of the installation another revision.
    const changed = { audit_entry: '', tenant: '' };
    expect({ ...(await contentOf(plinth)), ...changed }).toEqual({ ...contentBefore, ...changed });
    expect(await admin.get('/system/user/getInfo')).toMatchObject({ code: 401 });
  });

  /** Refuses the deletion while users are under legal hold, and lifts the holds. */
  async function expectHeld(session: Session, deletion: () => Promise<unknown>): Promise<void> {
    expect(await deletion()).toMatchObject({ code: 409, data: { errorCode: 'LEGAL_HOLD' } });
    const { data } = done(await session.get<{ userId: number }[]>('/system/retention/hold'));
    expect(data.length).toBeGreaterThan(0);
    for (const { userId } of data) done(await session.delete(`/system/retention/hold/${userId}`));
  }

  /** A session of the harness, in the folder that a tenant has with the embedded database. */
  async function useOwnWorkspace(session: Session): Promise<void> {
    const body = { model: 'common-model', permissionMode: 'READ_ONLY', idempotencyKey: 'quetzal' };
    interface Made {
      readonly workspace: string;
    }
    const { data } = done(await session.post<Made>('/coding/harness/sessions', body));
    expect(data.workspace.startsWith(realpathSync(plinth.dataDir))).toBe(true);
    writeFileSync(join(data.workspace, 'quetzal.txt'), 'quetzal');
  }

  /** One record of every kind that a tenant can have. */
  async function makeOneOfEach(by: Member): Promise<void> {
    const kinds = new Set(
      Object.values(references)
        .flatMap((fields) => Object.values(fields))
        .map(({ kind }) => kind)
        .filter(({ owner }) => owner !== 'installation'),
    );
    for (const kind of kinds) await kind.make(by, world);
    const role = await roleId(by.session, 'user');
    const userName = fresh('member');
    done(await by.session.post('/system/user', { userName, password: PASSWORD, roleIds: [role] }));
  }
});
