import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Caller } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { UserCallers } from '../../../src/identity/index.js';
import { ServerTools } from '../../../src/mcp/index.js';
import { AccountBrowser, AuthorizationServer } from '../../support/authorization-server.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { rowsOf } from '../../support/tables.js';
import { answering, TestToolServer } from '../../support/tool-server.js';

/**
 * What is refused, by the authorization specification of MCP 2025-11-25 and 2026-07-28 (read on 2026-11-28): metadata without PKCE
 * ("If code_challenge_methods_supported is absent, ... MCP clients MUST refuse to proceed"), an issuer that is not the one asked (RFC
 * 8414, 3.3), a resource that is another one (RFC 9728, 3.3), an answer with another `iss` (RFC 9207, 2.4; SEP-2468), credentials at
 * another authorization server than the one that has issued them (SEP-2352).
 */
interface ServerRow {
  readonly id: number;
  readonly name: string;
  readonly connected: boolean;
  readonly redirectUri: string | null;
  readonly [field: string]: unknown;
}

interface AccountRow {
  readonly serverId: number;
  readonly account: string;
  readonly connected: boolean;
}

const SECRET = 'the-secret-of-a-client';
const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

describe('accounts of tool servers', () => {
  let plinth: Plinth;
  let admin: Session;
  let tools: TestToolServer;
  let issuer: AuthorizationServer;
  let ann: Person;
  let bob: Person;
  let made = 0;

  beforeAll(async () => {
    [tools, issuer] = await Promise.all([TestToolServer.start(), AuthorizationServer.start()]);
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    const role = await makeRole(admin, 'tool-users', []);
    ann = await makeUser(plinth, admin, 'ann', [role]);
    bob = await makeUser(plinth, admin, 'bob', [role]);
  });

  afterAll(async () => {
    await plinth.stop();
    await Promise.all([tools.close(), issuer.stop()]);
  });

  afterEach(() => {
    issuer.reset();
    tools.tools.clear();
    tools.calls.length = 0;
    tools.requests.length = 0;
    tools.persons.length = 0;
    Object.assign(tools, { authorization: undefined, resourceMetadata: {}, scope: undefined });
  });

  const servers = (): ServerTools => plinth.app.get(ServerTools);

  async function callerOf(userId: number): Promise<Caller> {
    const caller = await plinth.app.get(UserCallers).working({ userId, tenantId: '000000' });
    if (!caller) throw new Error('The user may not sign in.');
    return caller;
  }

  /** A server with OAuth that all may use, of which nothing is accepted yet. */
  async function create(fields: object = {}): Promise<ServerRow> {
    made += 1;
    tools.authorization = issuer;
    tools.tools.set('greet', answering('Good day'));
    const body = { name: `oauth${made}`, address: tools.address, auth: 'oauth', ...fields };
    const { data } = done(await admin.post<ServerRow>('/mcp/server', body));
    const grants = [
      { subject: 'user:1', level: 'manage' },
      { subject: 'tenant', level: 'use' },
    ];
    done(await admin.put(`/access/tool-server/${data.id}`, { grants }));
    return data;
  }

  const connect = (session: Session, id: number): Promise<URL> =>
    new AccountBrowser(plinth).connectAccount(session, id);

  /** Accepts what the server lists to the administrator; the tool that was accepted. */
  async function accepted(id: number): Promise<{ id: number; hash: string }> {
    done(await admin.post(`/mcp/server/${id}/check`, {}));
    const path = `/mcp/server/${id}/tool`;
    const { data } = done(await admin.get<{ id: number; listedHash: string }[]>(path));
    const [tool] = data;
    if (!tool) throw new Error('The server lists nothing.');
    done(await admin.put(path, { tools: [{ id: tool.id, accept: tool.listedHash }] }));
    return { id: tool.id, hash: tool.listedHash };
  }

  async function call(userId: number, tool: { id: number; hash: string }): Promise<string> {
    const { signal } = new AbortController();
    const caller = await callerOf(userId);
    return (await servers().call(caller, tool, { text: 'hello' }, signal)).text;
  }

  /** A server whose account the administrator has connected, with its accepted tool. */
  async function connected(fields: object = {}): Promise<{
    server: ServerRow;
    tool: { id: number; hash: string };
  }> {
    const server = await create(fields);
    issuer.person = 'admin';
    await connect(admin, server.id);
    return { server, tool: await accepted(server.id) };
  }

  const stateOf = async (session: Session, id: number): Promise<AccountRow | undefined> =>
    done(await session.get<AccountRow[]>('/mcp/account/all')).data.find(
      ({ serverId }) => serverId === id,
    );

  it('are each person’s own: two users of one server are never mixed', async () => {
    const { server, tool } = await connected();
    expect(issuer.registrations).toMatchObject([
      {
        redirect_uris: [server.redirectUri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ]);
    await expect(call(ann.id, tool)).rejects.toThrow(
      /Your account of the tool server oauth\d+ is not connected. Connect it at .*\/account/,
    );
    expect(tools.persons).toEqual([]);

    for (const [name, { session }] of Object.entries({ ann, bob })) {
      issuer.person = name;
      expect(await stateOf(session, server.id)).toMatchObject({ connected: false });
      const page = await connect(session, server.id);
      expect(page.pathname + page.search).toBe(`/account?connected=${server.id}`);
      expect(await stateOf(session, server.id)).toMatchObject({
        account: 'personal',
        connected: true,
      });
    }
    // One registration serves all.
    expect(issuer.registrations).toHaveLength(1);
    const callers = [ann.id, bob.id, 1, bob.id, ann.id];
    await Promise.all(callers.map((id) => call(id, tool)));
    for (const id of callers) await call(id, tool);
    expect(tools.persons.slice(callers.length)).toEqual(['ann', 'bob', 'admin', 'bob', 'ann']);
    expect(tools.persons.toSorted()).toEqual([
      'admin',
      'admin',
      'ann',
      'ann',
      'ann',
      'ann',
      'bob',
      'bob',
      'bob',
      'bob',
    ]);

    done(await ann.session.delete(`/mcp/account/${server.id}`));
    await expect(call(ann.id, tool)).rejects.toThrow('is not connected');
    expect(await call(bob.id, tool)).toBe('Good day');
    expect(issuer.requests.filter(({ path }) => path === '/revoke')).toHaveLength(1);
    expect(await ann.session.delete(`/mcp/account/${server.id}`)).toMatchObject({ code: 404 });
  });

  it('shared by all are connected by those who may change the server', async () => {
    const server = await create({ account: 'shared' });
    expect(await ann.session.post(`/mcp/account/${server.id}/connect`, {})).toMatchObject({
      code: 403,
    });
    expect(await stateOf(ann.session, server.id)).toBeUndefined();
    expect((await admin.post(`/mcp/server/${server.id}/check`, {})).msg).toMatch(
      /is not connected to an account. .*\/tool-servers\/\d+/,
    );
    issuer.person = 'robot';
    await connect(admin, server.id);
    const tool = await accepted(server.id);
    await call(ann.id, tool);
    await call(bob.id, tool);
    expect(tools.persons).toEqual(['robot', 'robot']);
    expect(await ann.session.delete(`/mcp/account/${server.id}`)).toMatchObject({ code: 403 });
    expect(done(await admin.get<ServerRow>(`/mcp/server/${server.id}`)).data).toMatchObject({
      account: 'shared',
      connected: true,
    });
  });

  it('of Plinth itself are tokens by client credentials, got again when they end', async () => {
    issuer.clients.set('machine', { secret: SECRET, redirectUris: [] });
    const incomplete = { name: 'x', address: tools.address, auth: 'oauth', account: 'client' };
    expect(await admin.post('/mcp/server', incomplete)).toMatchObject({ code: 400 });
    const fields = { account: 'client', clientId: 'machine', clientSecret: SECRET, scope: 'crm' };
    const server = await create(fields);
    expect(server).toMatchObject({ hasClientSecret: true, redirectUri: null });
    const tool = await accepted(server.id);
    await call(ann.id, tool);
    issuer.expireAccess();
    await call(bob.id, tool);
    expect(tools.persons).toEqual(['machine', 'machine']);
    expect(issuer.grantsOf('client_credentials').map((body) => body.get('scope'))).toEqual([
      'crm',
      'crm',
    ]);
    expect(await admin.post(`/mcp/account/${server.id}/connect`, {})).toMatchObject({ code: 404 });
  });

  it('store tokens sealed, and go with their user', async () => {
    const { server } = await connected();
    const role = await makeRole(admin, 'leavers', []);
    const leaver = await makeUser(plinth, admin, 'leaver', [role]);
    await connect(leaver.session, server.id);
    const rows = await rowsOf(plinth);
    expect(rows.filter((row) => row.startsWith('server_account'))).not.toEqual([]);
    expect(rows.filter((row) => /(access|refresh)-[0-9a-f]{32}/.test(row))).toEqual([]);
    const count = (): Promise<number> => accountCount(server.id);
    expect(await count()).toBe(2);
    done(await admin.delete(`/system/user/${leaver.id}`));
    expect(await count()).toBe(1);
  });

  it('end with the address, the client and the kind of account that they are for', async () => {
    for (const change of [
      { address: `${tools.address}?v=2` },
      { account: 'shared' },
      { clientId: 'other' },
      { auth: 'none' },
    ]) {
      const { server } = await connected();
      expect(await accountCount(server.id)).toBe(1);
      done(await admin.put('/mcp/server', { id: server.id, description: 'Kept' }));
      expect(await accountCount(server.id)).toBe(1);
      done(await admin.put('/mcp/server', { id: server.id, ...change }));
      expect(await accountCount(server.id)).toBe(0);
    }
  });

  describe('are not connected', () => {
    it.each([
      ['of another issuer than asked', { issuer: 'https://evil.example.com' }, 'Issuer mismatch'],
      ['without PKCE', { code_challenge_methods_supported: undefined }, 'does not support PKCE'],
      ['with plain PKCE', { code_challenge_methods_supported: ['plain'] }, 'not support PKCE'],
      ['without registration', { registration_endpoint: undefined }, 'registers no clients'],
      [
        'that leads browsers to http elsewhere',
        { authorization_endpoint: 'javascript:alert(1)' },
        'cannot be used',
      ],
    ])('at a server %s', async (_, metadata, reason) => {
      const server = await create();
      issuer.metadata = metadata;
      const answer = await admin.post(`/mcp/account/${server.id}/connect`, {});
      expect(answer).toMatchObject({ code: 500 });
      expect(answer.msg).toContain(reason);
    });

    it('where registration is refused, or the metadata is of another resource', async () => {
      const server = await create();
      const begin = () => admin.post(`/mcp/account/${server.id}/connect`, {});
      issuer.registrationError = 'invalid_redirect_uri';
      expect((await begin()).msg).toContain('refuses to register Plinth (HTTP 400)');
      issuer.registrationError = undefined;
      tools.resourceMetadata = { resource: 'https://other.example.com/mcp' };
      expect((await begin()).msg).toContain('another resource, https://other.example.com/mcp');
      tools.resourceMetadata = { authorization_servers: ['http://169.254.169.254'] };
      expect(await begin()).toMatchObject({ code: 500 });
      expect(issuer.requests).toEqual([]);
    });

    it.each([
      ['another issuer (mix-up)', { iss: 'https://evil.example.com' }, 'invalid'],
      ['no issuer although it promises one', { iss: undefined }, 'invalid'],
      ['a refusal', { code: undefined, error: 'access_denied' }, 'denied'],
      ['a refusal of another issuer', { error: 'x', iss: 'https://evil.example.com' }, 'invalid'],
    ])('by an answer with %s', async (_, answers, failure) => {
      const server = await create();
      issuer.answers = answers;
      const page = await connect(admin, server.id);
      expect(page.searchParams.get('connectError')).toBe(failure);
      expect(issuer.requests).toEqual([]);
      expect(await accountCount(server.id)).toBe(0);
    });

    it('by a code that the server does not accept', async () => {
      const server = await create();
      issuer.tokenError = 'invalid_grant';
      const page = await connect(admin, server.id);
      expect(page.searchParams.get('connectError')).toBe('invalid');
    });

    it('by a state that was used, of another browser, or for another server', async () => {
      const server = await create();
      const other = await create();
      const browser = new AccountBrowser(plinth);
      const begin = async () => browser.open(await browser.beginAccount(ann.session, server.id));
      const failureOf = (page: URL) => page.searchParams.get('connectError');

      const callback = await begin();
      expect(failureOf(await new AccountBrowser(plinth).open(callback))).toBe('expired');
      expect(failureOf(await browser.open(callback))).toBe('expired');
      const elsewhere = await begin();
      elsewhere.pathname = elsewhere.pathname.replace(`/${server.id}/`, `/${other.id}/`);
      expect(failureOf(await browser.open(elsewhere))).toBe('expired');
      const used = await begin();
      expect(failureOf(await browser.open(used))).toBeNull();
      expect(failureOf(await browser.open(used))).toBe('expired');
      expect(issuer.grantsOf('authorization_code')).toHaveLength(1);
    });

    it('by one who has signed out, or lost the right, since it began', async () => {
      const server = await create();
      const session = await plinth.signIn('bob', 'pass-word-1');
      const browser = new AccountBrowser(plinth);
      const begin = async () => browser.open(await browser.beginAccount(session, server.id));
      const first = await begin();
      done(
        await admin.put(`/access/tool-server/${server.id}`, {
          grants: [{ subject: 'user:1', level: 'manage' }],
        }),
      );
      expect((await browser.open(first)).searchParams.get('connectError')).toBe('forbidden');
      const grants = [
        { subject: 'user:1', level: 'manage' },
        { subject: 'tenant', level: 'use' },
      ];
      done(await admin.put(`/access/tool-server/${server.id}`, { grants }));
      const second = await begin();
      done(await session.post('/auth/logout'));
      expect((await browser.open(second)).searchParams.get('connectError')).toBe('signed-out');
      expect(await accountCount(server.id)).toBe(0);
    });
  });

  it('find servers by OpenID Connect Discovery, and ask for what the challenge names', async () => {
    issuer.isOpenId = true;
    issuer.metadata = { scopes_supported: ['crm', 'offline_access'] };
    tools.scope = 'crm';
    const server = await create();
    const address = await new AccountBrowser(plinth).beginAccount(admin, server.id);
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      scope: 'crm offline_access',
      resource: tools.address,
      code_challenge_method: 'S256',
    });
  });

  it('of a client that was entered stay with its authorization server', async () => {
    const second = await AuthorizationServer.start();
    issuer.clients.set('plinth-crm', { secret: SECRET, redirectUris: [] });
    // Entra has no list of PKCE methods; a secret protects the code there.
    issuer.metadata = {
      code_challenge_methods_supported: undefined,
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
    };
    const server = await create({ clientId: 'plinth-crm', clientSecret: SECRET });
    issuer.clients.set('plinth-crm', { secret: SECRET, redirectUris: [server.redirectUri ?? ''] });
    const page = await connect(admin, server.id);
    expect(page.searchParams.get('connectError')).toBeNull();
    expect(issuer.registrations).toEqual([]);

    tools.resourceMetadata = { authorization_servers: [second.url] };
    expect((await admin.post(`/mcp/account/${server.id}/connect`, {})).msg).toContain(
      `now names the authorization server ${second.url}`,
    );
    expect(second.requests).toEqual([]);
    await second.stop();
  });

  describe('are renewed', () => {
    it('before the token ends, and when the server refuses it', async () => {
      const { tool } = await connected();
      issuer.lifetime = 1;
      issuer.expireAccess();
      await call(1, tool);
      // The token of a second is renewed before its use.
      await call(1, tool);
      issuer.lifetime = undefined;
      await call(1, tool);
      await call(1, tool);
      expect(issuer.grantsOf('refresh_token').map((body) => body.get('resource'))).toEqual([
        tools.address,
        tools.address,
        tools.address,
      ]);
      expect(tools.persons).toEqual(['admin', 'admin', 'admin', 'admin']);
      expect(tools.calls).toHaveLength(4);
    });

    it('no more when the grant has ended', async () => {
      const { server, tool } = await connected();
      issuer.expireAccess();
      issuer.tokenError = 'invalid_grant';
      await expect(call(1, tool)).rejects.toThrow('is not connected. Connect it at');
      expect(await accountCount(server.id)).toBe(0);
      issuer.tokenError = undefined;
      await connect(admin, server.id);
      expect(await call(1, tool)).toBe('Good day');
    });

    it('later when the authorization server fails meanwhile', async () => {
      const { server, tool } = await connected();
      issuer.expireAccess();
      issuer.tokenError = 'temporarily_unavailable';
      await expect(call(1, tool)).rejects.toThrow('cannot be used');
      expect(await accountCount(server.id)).toBe(1);
      issuer.tokenError = undefined;
      expect(await call(1, tool)).toBe('Good day');
    });

    it('once, where the server accepts none of its tokens (another audience)', async () => {
      const { tool } = await connected();
      tools.authorization = await AuthorizationServer.start();
      await expect(call(1, tool)).rejects.toThrow('cannot be used');
      expect(issuer.grantsOf('refresh_token')).toHaveLength(1);
      expect(tools.calls).toEqual([]);
      await tools.authorization.stop();
    });

    it('by one of those who call at once', async () => {
      const { tool } = await connected();
      issuer.expireAccess();
      const gate = Promise.withResolvers<undefined>();
      issuer.gate = gate.promise;
      const calls = [1, 2, 3, 4, 5].map(() => call(1, tool));
      await eventuallyRefreshing(1);
      gate.resolve(undefined);
      await Promise.all(calls);
      expect(issuer.grantsOf('refresh_token')).toHaveLength(1);
    });
  });

  async function eventuallyRefreshing(count: number): Promise<void> {
    while (issuer.grantsOf('refresh_token').length < count) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async function accountCount(serverId: number): Promise<number> {
    const [row] = await plinth.app
      .get(Database)
      .query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM server_account WHERE tenant_id = '000000' AND server_id = $1`,
        [serverId],
      );
    return row?.count ?? 0;
  }

  it('introduce Plinth by a document of its own for each server', async () => {
    const { id } = await create();
    const { text, status } = await plinth.anonymous().raw('GET', `/mcp/account/${id}/client`);
    expect({ status, document: JSON.parse(text) as unknown }).toEqual({
      status: 200,
      document: {
        client_id: `${plinth.url}/mcp/account/${id}/client`,
        client_name: 'Plinth',
        redirect_uris: [`${plinth.url}/mcp/account/${id}/callback`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    });
  });

  it('introduce Plinth by that document where servers read such, and the world can', async () => {
    const open = await Plinth.start({ PUBLIC_URL: 'https://plinth.example.com' });
    const root = await open.signIn();
    tools.authorization = issuer;
    issuer.metadata = { client_id_metadata_document_supported: true };
    const body = { name: 'documented', address: tools.address, auth: 'oauth' };
    const { id } = done(await root.post<ServerRow>('/mcp/server', body)).data;
    const address = await new AccountBrowser(open).beginAccount(root, id);
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: `https://plinth.example.com/mcp/account/${id}/client`,
      redirect_uri: `https://plinth.example.com/mcp/account/${id}/callback`,
    });
    expect(issuer.registrations).toEqual([]);
    await open.stop();
  });

  onServer('of two processes', () => {
    it('are renewed by one of them: the server ends a grant whose token comes twice', async () => {
      const { DATABASE_URL } = plinth.app.get<Config>(CONFIG);
      const two = await Plinth.start({
        DATABASE_URL: DATABASE_URL ?? '',
        DATA_DIR: plinth.dataDir,
      });
      const { tool } = await connected();
      const caller = await callerOf(1);
      const { signal } = new AbortController();
      for (let round = 1; round <= 5; round += 1) {
        issuer.expireAccess();
        const both = [servers(), two.app.get(ServerTools)].flatMap((one) => [one, one]);
        const results = await Promise.all(
          both.map((one) => one.call(caller, tool, { text: 'hello' }, signal)),
        );
        expect(results.map(({ text }) => text)).toEqual(Array(4).fill('Good day'));
        expect(issuer.grantsOf('refresh_token')).toHaveLength(round);
      }
      await two.stop();
    });
  });
});
