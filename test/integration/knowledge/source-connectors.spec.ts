import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { permissionCatalogue } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { SourceRunner } from '../../../src/source/source.runner.js';
import { GitServer } from '../../support/git-server.js';
import { attachmentsOf, createKnowledge } from '../../support/knowledge.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import {
  FaultyServer,
  refusal,
  s3Credentials,
  s3Server,
  TestBucket,
} from '../../support/s3-server.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const TENANT = '000000';

interface Run {
  readonly state: string;
  readonly trigger: string;
  readonly failure: string | null;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly failed: number;
  readonly endTime: string | null;
}

interface Page {
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
}

let plinth: Plinth;
let root: Session;
let owner: Person;
let base: number;
let bases = 0;
let site: Server;
let address: string;
let pages: Record<string, Page>;
let requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];

beforeAll(async () => {
  site = createServer(({ url = '', headers }, response) => answer(url, headers, response));
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  plinth = await Plinth.start();
  root = await plinth.signIn();
  const assignable = permissionCatalogue.filter(({ installation }) => !installation);
  const everyRole = await makeRole(
    root,
    'every',
    assignable.map(({ permission }) => permission),
  );
  owner = await makeUser(plinth, root, 'owner', [everyRole]);
}, 120_000);

afterAll(async () => {
  await plinth.stop();
  site.close();
});

beforeEach(async () => {
  bases += 1;
  base = await createKnowledge(owner.session, { name: `Base ${bases}` });
  requests = [];
});

/** The etag of a page is its content. */
function answer(path: string, headers: IncomingHttpHeaders, response: ServerResponse): void {
  requests.push({ path, headers });
  const page = pages[path];
  if (!page) return void response.writeHead(404).end();
  const etag = `"${Buffer.from(page.body).toString('base64url').slice(-40)}"`;
  if (headers['if-none-match'] === etag) return void response.writeHead(304).end();
  const type = { 'content-type': 'text/html; charset=utf-8', etag };
  response.writeHead(page.status ?? 200, { ...type, ...page.headers }).end(page.body);
}

async function save(fields: object): Promise<void> {
  done(await owner.session.put(`/system/info/${base}/source`, { name: 'site', ...fields }));
}

async function lastRun(): Promise<Run | null> {
  const { data } = done(await root.get<{ lastRun: Run | null }[]>(`/system/info/${base}/source`));
  return data[0]?.lastRun ?? null;
}

async function ended(): Promise<Run> {
  const run = await eventually(lastRun, (last) => last !== null && last.state !== 'open');
  if (!run) throw new Error('There is no run.');
  return run;
}

async function run(): Promise<Run> {
  done(await owner.session.post(`/system/info/${base}/source/run?source=site`));
  return ended();
}

async function names(): Promise<string[]> {
  return (await attachmentsOf(owner.session, base)).map(({ name }) => name).sort();
}

function sql<Row>(statement: string, parameters: unknown[]): Promise<Row[]> {
  return plinth.app.get(Database).query<Row>(statement, parameters);
}

const link = (...paths: string[]) => paths.map((path) => `<a href="${path}">x</a>`).join('');

describe('a web site', () => {
  it('is read by its sitemaps, links and rules, and then only where it has changed', async () => {
    const urls = `<urlset><url><loc>${address}/docs/listed</loc></url></urlset>`;
    const index = `<sitemapindex><sitemap><loc>${address}/pages.xml.gz</loc></sitemap></sitemapindex>`;
    pages = {
      '/robots.txt': {
        body: `User-agent: *\nDisallow: /docs/secret\nSitemap: ${address}/index.xml`,
      },
      '/index.xml': { body: index },
      '/pages.xml.gz': { body: gzipSync(urls) },
      '/docs/': { body: link('one', 'secret', '/outside', 'moved', 'twin', 'hidden', 'gone') },
      '/docs/one': { body: `<p>One.</p>${link('two#part')}` },
      '/docs/two': { body: '<p>Two.</p>' },
      '/docs/twin': { body: `<link rel="canonical" href="/docs/one"><p>One again.</p>` },
      '/docs/hidden': { body: `<meta name="robots" content="noindex">${link('deep')}` },
      '/docs/deep': { body: '<p>Deep.</p>' },
      '/docs/moved': { body: '', status: 301, headers: { location: '/docs/target' } },
      '/docs/target': { body: '<p>Target.</p>' },
      '/docs/listed': { body: '<p>Listed.</p>' },
      '/docs/secret': { body: '<p>Secret.</p>' },
      '/outside': { body: '<p>Outside.</p>' },
    };
    await save({ kind: 'web', address: `${address}/docs/` });

    expect(await run()).toMatchObject({ state: 'done', trigger: 'manual', created: 6, failed: 0 });
    const all = ['deep.html', 'docs.html', 'listed.html', 'one.html', 'target.html', 'two.html'];
    expect(await names()).toEqual(all);
    expect(requests.map(({ path }) => path)).not.toContain('/docs/secret');

    pages['/docs/two'] = { body: '<p>Two, changed.</p>' };
    delete pages['/docs/deep'];
    expect(await run()).toMatchObject({
      state: 'done',
      created: 0,
      changed: 1,
      unchanged: 4,
      removed: 1,
    });
    expect(await names()).toEqual(all.slice(1));

    // A site that is away empties no base.
    const before = pages;
    pages = { ...pages, '/docs/': { body: '', status: 503 } };
    expect(await run()).toMatchObject({ state: 'failed', failure: expect.stringContaining('503') });
    pages = {};
    expect(await run()).toMatchObject({ state: 'failed', removed: 0 });
    expect(await names()).toEqual(all.slice(1));
    pages = before;
    await save({ kind: 'web', address: `${address}/docs/`, maxPages: 2 });
    expect(await run()).toMatchObject({
      state: 'done',
      removed: 0,
      failure: expect.stringContaining('limit'),
    });
  });
});

describe('a Git repository', () => {
  it('is read where a blob has changed, with its token', async () => {
    const server = await GitServer.start();
    server.token = 'token-of-the-repository';
    await server.commit({
      'docs/a.md': 'A.',
      'docs/in/b.md': 'B.',
      'docs/c.txt': 'C.',
      'd.md': 'D.',
    });
    const fields = { kind: 'git', address: server.url, folder: 'docs', patterns: ['**/*.md'] };
    await save(fields);
    expect(await run()).toMatchObject({
      state: 'failed',
      created: 0,
      failure: expect.stringContaining('(HTTP 401)'),
    });
    await save({ ...fields, token: server.token });
    expect(await run()).toMatchObject({ failure: null, state: 'done', created: 2 });
    expect(await names()).toEqual(['a.md', 'b.md']);

    await server.commit({ 'docs/a.md': 'A, changed.', 'docs/in/b.md': null, 'docs/e.md': 'E.' });
    // The token is kept, and goes nowhere else.
    await save(fields);
    expect(await run()).toMatchObject({ state: 'done', created: 1, changed: 1, removed: 1 });
    expect(await run()).toMatchObject({ state: 'done', unchanged: 2 });
    const [stored] = await sql<{ secret: string }>(
      'SELECT secret FROM knowledge_source WHERE tenant_id = $1 AND knowledge_id = $2',
      [TENANT, base],
    );
    expect(stored?.secret).toMatch(/^v1\./);
    const listed = await root.get<object[]>(`/system/info/${base}/source`);
    expect(listed.data[0]).toMatchObject({
      address: server.url,
      branch: null,
      folder: 'docs',
      patterns: ['**/*.md'],
      maxPages: 1_000,
      maxDepth: null,
      hasToken: true,
    });
    expect(JSON.stringify(listed)).not.toContain(server.token);
    // An empty one is none.
    await save({ ...fields, token: '' });
    expect(await run()).toMatchObject({ state: 'failed' });
    await save({ ...fields, token: server.token });
    const other = await GitServer.start();
    await other.commit({ 'docs/a.md': 'Other.' });
    other.token = 'another';
    await save({ ...fields, address: other.url });
    expect(await run()).toMatchObject({ state: 'failed' });
    expect(other.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
    await other.stop();
    await server.stop();
  });
});

const onS3 = s3Server === '' ? describe.skip : describe;
onS3('a bucket', () => {
  it('is read where an object has changed, with its access key', async () => {
    const bucket = await TestBucket.make();
    const files = { 'docs/a.md': 'A.', 'docs/in/b (1).md': 'B.', 'docs/c.txt': 'C.', 'd.md': 'D.' };
    for (const [key, text] of Object.entries(files)) await bucket.put(key, text);
    await bucket.put('docs/folder/', '');
    const server = new FaultyServer();
    const refuses = refusal(403, 'AccessDenied');
    server.fault = (request, response) =>
      request.headers.authorization === undefined && refuses(request, response);
    const s3Address = (await server.listen()) + new URL(bucket.address).pathname;
    const fields = { kind: 's3', address: s3Address, folder: '/docs/', patterns: ['**/*.md'] };
    // Without a key nothing is signed, although the process has credentials.
    await save(fields);
    expect(await run()).toMatchObject({
      state: 'failed',
      created: 0,
      failure: expect.stringContaining('(AccessDenied)'),
    });
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = s3Credentials;
    const token = `${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}`;
    await save({ ...fields, token });
    expect(await run()).toMatchObject({ failure: null, state: 'done', created: 2 });
    expect(await names()).toEqual(['a.md', 'b (1).md']);

    await bucket.put('docs/a.md', 'A, changed.');
    await bucket.remove('docs/in/b (1).md');
    await bucket.put('docs/e.md', 'E.');
    expect(await run()).toMatchObject({ state: 'done', created: 1, changed: 1, removed: 1 });
    expect(await run()).toMatchObject({ state: 'done', unchanged: 2 });
    await save({ ...fields, maxPages: 1 });
    expect(await run()).toMatchObject({ failure: expect.stringContaining('limit'), removed: 0 });
    await save({ ...fields, address: `${s3Address}-missing` });
    expect(await run()).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('(NoSuchBucket)'),
    });
    await server.close();
    bucket.close();
  });

  it('is refused with a path in its address, or another form of the key', async () => {
    const path = `/system/info/${base}/source`;
    const body = { name: 'site', kind: 's3', address: `${address}/bucket/folder` };
    expect(await owner.session.put(path, body)).toMatchObject({ code: 400 });
    const unkeyed = { ...body, address: `${address}/bucket`, token: 'secret' };
    expect(await owner.session.put(path, unkeyed)).toMatchObject({ code: 400 });
  });
});

describe('a schedule', () => {
  beforeEach(() => {
    pages = { '/': { body: '<p>Start.</p>' } };
  });

  it('makes one run of each time, whichever process looks', async () => {
    await save({
      kind: 'web',
      address: `${address}/`,
      cron: '0 6 * * *',
      timeZone: 'Asia/Shanghai',
    });
    const runner = plinth.app.get(SourceRunner, { strict: false });
    const { signal } = new AbortController();
    await runner.fireDue(new Date(), signal);
    expect(await lastRun()).toBeNull();

    const tomorrow = new Date(Date.now() + 25 * 60 * 60_000);
    await Promise.all([1, 2, 3].map(() => runner.fireDue(tomorrow, signal)));
    expect(await ended()).toMatchObject({ state: 'done', trigger: 'schedule', created: 1 });
    const runs = await sql<{ dueAt: Date }>(
      `SELECT due_at AS "dueAt" FROM source_run AS run WHERE tenant_id = $1 AND source_id =
         (SELECT id FROM knowledge_source WHERE tenant_id = $1 AND knowledge_id = $2)`,
      [TENANT, base],
    );
    expect(runs).toHaveLength(1);
    expect(runs[0]?.dueAt.getUTCHours()).toBe(22);

    done(
      await owner.session.post(`/system/info/${base}/source/pause?source=site`, { paused: true }),
    );
    await runner.fireDue(new Date(tomorrow.getTime() + 25 * 60 * 60_000), signal);
    expect((await lastRun())?.trigger).toBe('schedule');
  });

  it('is refused where it cannot be read', async () => {
    const body = { name: 'site', kind: 'web', address: `${address}/` };
    const path = `/system/info/${base}/source`;
    expect(await owner.session.put(path, { ...body, cron: 'daily' })).toMatchObject({ code: 400 });
    expect(await owner.session.put(path, { ...body, cron: '* * * * * *' })).toMatchObject({
      code: 400,
    });
    const zone = { ...body, cron: '0 6 * * *', timeZone: 'Nowhere/Town' };
    expect(await owner.session.put(path, zone)).toMatchObject({ code: 400 });
    expect(await owner.session.put(path, { ...body, address: 'ftp://x/' })).toMatchObject({
      code: 400,
    });
  });

  it('runs with the rights that the owner has then, and goes on after its process was lost', async () => {
    await save({ kind: 'web', address: `${address}/` });
    const [source] = await sql<{ id: number }>(
      'SELECT id FROM knowledge_source WHERE tenant_id = $1 AND knowledge_id = $2',
      [TENANT, base],
    );
    // As a killed process leaves it.
    await sql(
      `INSERT INTO source_run (tenant_id, source_id, cursor, trigger, attempts, lease_token, lease_until)
       VALUES ($1, $2, gen_random_uuid(), 'manual', 1, gen_random_uuid(), now() - interval '1 second')`,
      [TENANT, source?.id],
    );
    expect(await owner.session.post(`/system/info/${base}/source/run?source=site`)).toMatchObject({
      code: 409,
    });
    expect(await ended()).toMatchObject({ state: 'done', created: 1 });

    done(await root.put('/system/user/changeStatus', { userId: owner.id, status: '1' }));
    done(await root.post(`/system/info/${base}/source/run?source=site`));
    expect(await ended()).toMatchObject({
      state: 'refused',
      failure: expect.stringContaining('owner'),
      removed: 0,
    });
  });
});
