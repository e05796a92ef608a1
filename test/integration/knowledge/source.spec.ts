import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { permissionCatalogue, TenantRevision } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { ReaderResolution } from '../../../src/source/reader-resolution.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { attachmentsOf, createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';

const TENANT = '000000';

interface Stored {
  readonly result: string;
  readonly id: number;
  readonly unknownReaders: string[];
}

interface Run {
  readonly state: string;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly failed: number;
  readonly errors: { externalId: string; message: string }[];
}

let plinth: Plinth;
let simulator: Simulator;
let root: Session;
let owner: Person;
let member: Person;
let everyRole: number;
let base: number;
let bases = 0;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  root = await plinth.signIn();
  await createProvider(root, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const embedding = { category: 'vector', modelDimension: 64, modelName: 'sim-embed-64' };
  await createModel(root, { ...service, ...embedding });
  const assignable = permissionCatalogue.filter(({ installation }) => !installation);
  everyRole = await makeRole(
    root,
    'every',
    assignable.map(({ permission }) => permission),
  );
  owner = await makeUser(plinth, root, 'owner', [everyRole]);
  member = await makeUser(plinth, root, 'member', [everyRole]);
}, 120_000);

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(async () => {
  bases += 1;
  const fields = { name: `Base ${bases}`, embeddingModel: 'sim-embed-64', enableHybrid: 1 };
  base = await createKnowledge(owner.session, fields);
  const grants = [
    { subject: `user:${owner.id}`, level: 'manage' },
    { subject: 'tenant', level: 'read' },
  ];
  done(await root.put(`/access/knowledge/${base}`, { grants }));
});

function path(externalId: string, source?: string): string {
  const query = source === undefined ? '' : `?source=${source}`;
  return `/system/info/${base}/source/${encodeURIComponent(externalId)}${query}`;
}

function put(externalId: string, body: object, by = owner.session): Promise<Answer<Stored>> {
  return by.put<Stored>(path(externalId), body);
}

async function putDone(externalId: string, body: object): Promise<Stored> {
  return done(await put(externalId, body)).data;
}

async function begin(query = ''): Promise<{ cursor: string; resumed: boolean }> {
  const address = `/system/info/${base}/source/begin${query}`;
  return done(await owner.session.post<{ cursor: string; resumed: boolean }>(address)).data;
}

function complete(cursor: string, body: object = {}, source = 'default') {
  const address = `/system/info/${base}/source/complete?source=${source}`;
  return owner.session.post<{ removed: number; remaining: number }>(address, { cursor, ...body });
}

async function lastRun(): Promise<Run> {
  const { data } = done(
    await owner.session.get<{ lastRun: Run | null }[]>(`/system/info/${base}/source`),
  );
  const run = data[0]?.lastRun;
  if (!run) throw new Error('The source has no run.');
  return run;
}

async function names(session = owner.session): Promise<string[]> {
  return (await attachmentsOf(session, base)).map(({ name }) => name).sort();
}

/** The text of the fragments that the person finds. */
async function searched({ session }: Person, query: string): Promise<string> {
  const body = { knowledgeId: base, query };
  return (await session.raw('POST', '/system/fragment/retrieval', body)).text;
}

function sql<Row = unknown>(statement: string, parameters: unknown[]): Promise<Row[]> {
  return plinth.app.get(Database).query<Row>(statement, parameters);
}

describe('a document of a source', () => {
  it('is made, left alone, described, changed and removed', async () => {
    const created = await putDone('docs/one.md', { text: 'The first apple.', etag: '1' });
    expect(created).toMatchObject({ result: 'created', unknownReaders: [] });
    await settled(owner.session, base);
    const parsedAt = async () =>
      (
        await sql<{ at: Date }>(
          'SELECT parsed_at AS at FROM attachment WHERE tenant_id = $1 AND id = $2',
          [TENANT, created.id],
        )
      )[0]?.at;
    const before = await parsedAt();

    expect(await putDone('docs/one.md', { text: 'Not read.', etag: '1' })).toMatchObject({
      result: 'unchanged',
      id: created.id,
    });
    expect(await putDone('docs/one.md', { etag: '1' })).toMatchObject({ result: 'unchanged' });
    expect(await putDone('docs/one.md', { etag: '1', metadata: { year: 2026 } })).toMatchObject({
      result: 'changed',
    });
    expect(await putDone('docs/one.md', { etag: '2' })).toMatchObject({ result: 'content-needed' });
    await settled(owner.session, base);
    expect(await parsedAt()).toEqual(before);
    expect(await searched(owner, 'apple')).toContain('first apple');

    expect(await putDone('docs/one.md', { text: 'The second pear.', etag: '2' })).toMatchObject({
      result: 'changed',
      id: created.id,
    });
    const [row] = await settled(owner.session, base);
    expect(row).toMatchObject({ name: 'one.md', metadata: { year: 2026 } });
    expect(await searched(owner, 'pear')).toContain('second pear');
    expect(await searched(owner, 'apple')).not.toContain('first apple');

    done(await owner.session.delete(path('docs/one.md')));
    done(await owner.session.delete(path('docs/one.md')));
    expect(await names()).toEqual([]);
  });

  it('comes as a file of a form, as text or from an address', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/moved') response.writeHead(302, { location: '/guide' }).end();
      else if (request.url === '/guide')
        response.writeHead(200, { 'content-type': 'text/html' }).end('<p>The guide.</p>');
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const form = new FormData();
    form.set('file', new Blob(['Text of a file.']), 'file.txt');
    form.set('etag', 'x');
    form.set('metadata', '{"year":2025}');
    form.set('acl', '{"users":["member"]}');
    const { headers } = owner.session;
    const response = await fetch(plinth.url + path('form'), { method: 'PUT', headers, body: form });

    expect(await response.json()).toMatchObject({ code: 200, data: { result: 'created' } });
    expect(await putDone('web', { address: `${url}/moved` })).toMatchObject({ result: 'created' });
    expect(await put('gone', { address: `${url}/none` })).toMatchObject({
      code: 400,
      msg: expect.stringContaining('404'),
    });
    expect(await put('both', { address: `${url}/guide`, text: 'Too much' })).toMatchObject({
      code: 400,
    });
    expect(await put('odd', { text: 'x', acl: { everyone: true } })).toMatchObject({ code: 400 });
    expect(await names()).toEqual(['file.txt', 'guide.html']);
    expect(await names(member.session)).toEqual(['file.txt', 'guide.html']);
    server.close();
  });

  it('is one document after several puts at once, and may equal another', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => put('same', { text: 'One content.', etag: 'e' })),
    );
    expect(answers.map(({ data }) => data.result).sort()).toEqual([
      'created',
      ...Array<string>(5).fill('unchanged'),
    ]);
    await upload(owner.session, base, [['mine.txt', 'One content.']]);
    await putDone('other', { text: 'One content.' });

    expect(await names()).toEqual(['mine.txt', 'other.txt', 'same.txt']);
  });

  it('can be put by an API key with the permissions, and by no reader of the base', async () => {
    const permissions = ['system:attach:edit', 'system:attach:add'];
    const key = withKey(root, await makeKey(owner.session, { permissions }));
    expect(await put('by-key', { text: 'Of a program.' }, key)).toMatchObject({ code: 200 });
    expect(await put('acl', { text: 'x', acl: { public: true } }, key)).toMatchObject({
      code: 403,
    });
    const weak = withKey(
      root,
      await makeKey(owner.session, { permissions: ['system:attach:edit'] }),
    );
    expect(await put('by-key', { text: 'y' }, weak)).toMatchObject({ code: 403 });
    expect(await put('by-member', { text: 'z' }, member.session)).toMatchObject({ code: 403 });
  });
});

describe('the readers of a source', () => {
  it('are exactly those that the acl names, whatever the content does', async () => {
    await putDone('secret.txt', { text: 'The word is marigold.', acl: { users: ['OWNER'] } });
    await settled(owner.session, base);
    expect(await names(member.session)).toEqual([]);

    // The former content is shown to no reader of the new one.
    const changed = { text: 'The word is gone.', acl: { users: ['member'] } };
    expect(await putDone('secret.txt', changed)).toMatchObject({ result: 'changed' });
    expect(await searched(member, 'marigold')).not.toContain('marigold');
    await settled(owner.session, base);
    expect(await searched(member, 'word')).toContain('gone');

    expect(await putDone('secret.txt', { ...changed, acl: { public: true } })).toMatchObject({
      result: 'changed',
    });
    const closed = { ...changed, acl: { users: [], groups: [] }, metadata: { year: 2027 } };
    expect(await putDone('secret.txt', closed)).toMatchObject({ result: 'changed' });
    expect(await names(member.session)).toEqual([]);
    expect(await attachmentsOf(owner.session, base)).toMatchObject([{ metadata: { year: 2027 } }]);
    expect(await putDone('secret.txt', { text: changed.text })).toMatchObject({
      result: 'unchanged',
    });
    expect(await names(member.session)).toEqual([]);
  });

  it('are taken away although the new content is refused', async () => {
    await putDone('open.txt', { text: 'Open to the tenant.' });
    const archive = { text: 'PK\u0003\u0004', name: 'open.zip', acl: { users: ['owner'] } };
    const cursor = await begin();
    expect(await put('open.txt', archive)).toMatchObject({ code: 400 });
    expect(await names(member.session)).toEqual([]);
    expect(await names()).toEqual(['open.txt']);
    expect(await lastRun()).toMatchObject({ failed: 1, errors: [{ externalId: 'open.txt' }] });
    done(await complete(cursor.cursor));
    expect(await names()).toEqual(['open.txt']);
  });

  it('that Plinth does not know read it once they exist, and never before', async () => {
    const acl = { users: ['newcomer', 'late@example.com'], groups: ['Late group', 'Twice'] };
    for (const source of ['local', 'scim']) {
      await sql(
        `INSERT INTO user_group (tenant_id, source, display_name, external_id) VALUES ($1, $2::varchar, 'Twice', $2)`,
        [TENANT, source],
      );
    }
    const stored = await putDone('later.txt', { text: 'For the newcomer.', acl });
    expect(stored.unknownReaders).toEqual([...acl.users, ...acl.groups]);
    expect(await names(member.session)).toEqual([]);
    expect(await names(owner.session)).toEqual(['later.txt']);

    // An address that a user enters for themselves proves nothing.
    done(
      await member.session.put('/system/user/profile', {
        nickName: 'm',
        email: 'late@example.com',
      }),
    );
    const newcomer = await makeUser(plinth, root, 'newcomer', [everyRole]);
    await plinth.app.get(ReaderResolution).round(new AbortController().signal);
    expect(await names(newcomer.session)).toEqual(['later.txt']);
    expect(await names(member.session)).toEqual([]);
    expect((await putDone('later.txt', { text: 'For the newcomer.', acl })).unknownReaders).toEqual(
      ['late@example.com', ...acl.groups],
    );

    const [group] = await sql<{ id: number }>(
      `INSERT INTO user_group (tenant_id, source, display_name) VALUES ($1, 'local', 'late GROUP') RETURNING id`,
      [TENANT],
    );
    await sql('INSERT INTO group_membership (tenant_id, group_id, user_id) VALUES ($1, $2, $3)', [
      TENANT,
      group?.id,
      member.id,
    ]);
    await plinth.app.get(TenantRevision).incrementAccess(TENANT);
    await plinth.app.get(ReaderResolution).round(new AbortController().signal);
    expect(await names(member.session)).toEqual(['later.txt']);
  });
});

describe('a run', () => {
  it('removes what it has not seen, and nothing of others', async () => {
    await upload(owner.session, base, [['mine.txt', 'Mine.']], false);
    done(await owner.session.put(path('theirs', 'second'), { text: 'Theirs.' }));
    for (const id of ['a', 'b', 'c']) await putDone(id, { text: `Text ${id}.`, etag: '1' });
    const { cursor, resumed } = await begin();
    expect(resumed).toBe(false);
    await putDone('a', { etag: '1' });
    await putDone('b', { text: 'New b.', etag: '2' });
    await putDone('d', { text: 'Text d.', etag: '1' });

    // After a crash the program goes on with the run that is open.
    expect(await begin('?resume=true')).toEqual({ cursor, resumed: true });
    expect(await complete(cursor, {}, 'second')).toMatchObject({ code: 409 });
    expect(done(await complete(cursor)).data).toEqual({ removed: 1, remaining: 0 });
    expect(done(await complete(cursor)).data).toEqual({ removed: 0, remaining: 0 });
    expect(await names()).toEqual(['a.txt', 'b.txt', 'd.txt', 'mine.txt', 'theirs.txt']);
    expect(await lastRun()).toMatchObject({
      state: 'done',
      created: 1,
      changed: 1,
      unchanged: 1,
      removed: 1,
      failed: 0,
    });
  });

  it('that was replaced, is unknown or has seen nothing removes nothing', async () => {
    await putDone('a', { text: 'Text a.' });
    const first = await begin();
    const second = await begin();
    expect(await complete(first.cursor)).toMatchObject({
      code: 409,
      msg: expect.stringContaining('replaced'),
    });
    const unknown = '00000000-0000-4000-8000-000000000000';
    expect(await complete(unknown)).toMatchObject({ code: 409 });
    expect(await complete(second.cursor)).toMatchObject({
      code: 409,
      msg: expect.stringContaining('allowEmpty'),
    });
    expect(await names()).toEqual(['a.txt']);
    expect(done(await complete(second.cursor, { allowEmpty: true })).data).toEqual({
      removed: 1,
      remaining: 0,
    });
    expect(await names()).toEqual([]);
  });

  it('ends with its source, which takes its documents along', async () => {
    await upload(owner.session, base, [['mine.txt', 'Mine.']], false);
    await putDone('a', { text: 'Text a.' });
    await begin();
    const removal = await owner.session.delete<object>(`/system/info/${base}/source`);
    expect(removal).toMatchObject({ code: 200, data: { removed: 1, remaining: 0 } });
    expect(await names()).toEqual(['mine.txt']);
    expect((await owner.session.get(`/system/info/${base}/source`)).data).toEqual([]);
    done(await owner.session.delete(`/system/info/${base}`));
  });
});
