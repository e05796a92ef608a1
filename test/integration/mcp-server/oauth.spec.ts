import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Database } from '../../../src/platform/database/index.js';
import { OAuthClients } from '../../../src/oauth/oauth.clients.js';
import { OutboundHttp } from '../../../src/platform/outbound/index.js';
import { withKey } from '../../support/api-keys.js';
import { callTool, textOf } from '../../support/mcp-client.js';
import {
  approve,
  asked,
  connect,
  MemoryProvider,
  newRequest,
  REDIRECT_URI,
  registerClient,
  sendForm,
} from '../../support/oauth-client.js';
import type { OAuthAnswer, Tokens } from '../../support/oauth-client.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const KEYS = ['list', 'query', 'add', 'edit', 'remove'].map((one) => `system:apikey:${one}`);

interface KeyRow {
  readonly id: number;
  readonly name: string;
  readonly application: string | null;
  readonly state: string;
  readonly doors: string[] | null;
  readonly permissions: string[];
}

let plinth: Plinth;
let anonymous: Session;
let admin: Session;
let other: Session;
let people = 0;

beforeAll(async () => {
  plinth = await Plinth.start({ LOGIN_ATTEMPTS_PER_MINUTE: '1000' });
  anonymous = plinth.anonymous();
  const root = await plinth.signIn();
  ({ admin } = await makeTenant(plinth, root, '700001'));
  ({ admin: other } = await makeTenant(plinth, root, '700002'));
});

afterAll(() => plinth.stop());

async function person(...permissions: string[]): Promise<Person> {
  people += 1;
  const role = await makeRole(admin, `role${people}`, [...KEYS, ...permissions]);
  return makeUser(plinth, admin, `person${people}`, [role]);
}

async function keysOf(session: Session): Promise<KeyRow[]> {
  return done(await session.get<KeyRow[]>('/system/apikey/list?pageSize=100')).rows;
}

function refresh({ clientId, refresh_token: token }: Tokens & { clientId: string }) {
  return sendForm(anonymous, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
  });
}

async function isAccepted(token: string): Promise<boolean> {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const accept = 'application/json, text/event-stream';
  const session = withKey(anonymous, { key: token });
  const { status } = await session.raw('POST', '/mcp', ping, { accept });
  if (status !== 200 && status !== 401) throw new Error(`POST /mcp answered ${status}.`);
  return status === 200;
}

function expectRefusal({ status, body, headers }: OAuthAnswer, error: string): void {
  expect({ status, error: body.error }).toEqual({ status: 400, error });
  expect(headers['cache-control']).toBe('no-store');
  expect(body.error_description).toMatch(/^[\x20-\x7e]+$/);
}

describe('the official client', () => {
  function open(provider: MemoryProvider) {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL(`${plinth.url}/mcp`), {
      authProvider: provider,
    });
    return { client, transport };
  }

  async function consent(provider: MemoryProvider, session: Session): Promise<URLSearchParams> {
    const address = provider.opened;
    if (!address) throw new Error('The client has opened no address.');
    expect(address.origin + address.pathname).toBe(`${plinth.url}/oauth/authorize`);
    const answer = await approve(session, Object.fromEntries(address.searchParams));
    expect(answer.origin + answer.pathname).toBe(REDIRECT_URI);
    expect(answer.searchParams.get('state')).toBe('the-state');
    expect(answer.searchParams.get('iss')).toBe(plinth.url);
    return answer.searchParams;
  }

  async function connected(provider: MemoryProvider, session: Session): Promise<Client> {
    const first = open(provider);
    await expect(first.client.connect(first.transport)).rejects.toThrow('Unauthorized');
    await first.transport.finishAuth(await consent(provider, session));
    const { client, transport } = open(provider);
    await client.connect(transport);
    return client;
  }

  it('finds the server, registers, asks the person, calls tools, renews its key and is revoked', async () => {
    const { session } = await person('system:info:list');
    const provider = new MemoryProvider();
    const client = await connected(provider, session);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'list_knowledge_bases',
      'list_agents',
      'ask_agent',
    ]);
    const called = await client.callTool({ name: 'list_knowledge_bases', arguments: {} });
    expect(textOf(called)).toBe('{"total":0,"rows":[]}');

    const [key] = await keysOf(session);
    expect(key).toMatchObject({
      ...{ name: 'Test editor', application: '127.0.0.1:41234', state: 'active', doors: ['mcp'] },
      permissions: ['chat:chat:use', 'system:info:list'],
    });
    const first = provider.stored?.access_token;
    await plinth.app
      .get(Database)
      .query("UPDATE api_key SET expire_time = now() - interval '1 second' WHERE id = $1", [
        key?.id,
      ]);
    await client.listTools();
    expect(provider.stored?.access_token).not.toBe(first);
    expect((await keysOf(session)).length).toBe(1);

    provider.opened = undefined;
    done(await session.delete(`/system/apikey/${key?.id}`));
    await expect(client.listTools()).rejects.toThrow('Unauthorized');
    expect(provider.opened).toBeDefined();
    await client.close();
  });

  it('is known by the document that its id is the address of', async () => {
    const id = 'https://editor.example.com/client.json';
    const http = plinth.app.get(OutboundHttp);
    const document = {
      client_id: id,
      client_name: 'Described \u202Eeditor',
      redirect_uris: [REDIRECT_URI, 'javascript:alert(1)'],
      token_endpoint_auth_method: 'none',
    };
    const answer = {
      status: 200,
      headers: {},
      body: Readable.from([]),
      text: () => Promise.resolve(JSON.stringify(document)),
      discard: () => undefined,
    };
    const request = jest.spyOn(http, 'request').mockResolvedValue(answer);
    const { session } = await person();
    const client = await connected(new MemoryProvider(id), session);
    expect((await client.listTools()).tools.length).toBe(2);
    await client.close();
    expect((await keysOf(session))[0]?.name).toBe('Described editor');
    expect(request).toHaveBeenCalledTimes(1);

    document.client_id = 'https://other.example.com/client.json';
    const { request: fields } = newRequest('https://editor.example.com/copied.json');
    const query = new URLSearchParams(fields).toString();
    expect(await session.get(`/oauth/consent?${query}`)).toMatchObject({ code: 400 });
    request.mockRestore();
    const inside = newRequest('https://127.0.0.1:9/client.json').request;
    const refused = await session.get(`/oauth/consent?${new URLSearchParams(inside).toString()}`);
    expect(refused).toMatchObject({ code: 400, msg: expect.stringContaining('could not be read') });
  });
});

describe('a registration', () => {
  it.each([
    [['http://evil.example/callback'], 'invalid_redirect_uri'],
    [['javascript:alert(1)'], 'invalid_redirect_uri'],
    [['data:text/html,x'], 'invalid_redirect_uri'],
    [['https://user@app.example/callback'], 'invalid_redirect_uri'],
    [['https://app.example/callback#fragment'], 'invalid_redirect_uri'],
    [['nonsense'], 'invalid_redirect_uri'],
    [[], 'invalid_redirect_uri'],
    [[`https://app.example/${'x'.repeat(1_000)}`], 'invalid_client_metadata'],
  ])('refuses %j', async (uris, error) => {
    const { status, text } = await anonymous.raw('POST', '/oauth/register', {
      redirect_uris: uris,
    });
    expect({ status, body: JSON.parse(text) as unknown }).toMatchObject({
      ...{ status: 400, body: { error } },
    });
  });

  it('answers what it has registered, and takes schemes of programs', async () => {
    const metadata = {
      redirect_uris: ['com.example.editor:/callback'],
      token_endpoint_auth_method: 'client_secret_basic',
    };
    const { status, text } = await anonymous.raw('POST', '/oauth/register', metadata);
    expect(status).toBe(201);
    const registered = JSON.parse(text) as { client_id: string };
    expect(registered).toMatchObject({
      ...{ redirect_uris: metadata.redirect_uris, token_endpoint_auth_method: 'none' },
    });
    const { session } = await person();
    const { request } = newRequest(registered.client_id, {
      redirect_uri: 'com.example.editor:/callback',
    });
    expect(await asked(session, request)).toMatchObject({
      ...{ host: 'com.example.editor:', isLocal: true },
    });
  });

  it('ends after 90 days', async () => {
    const clientId = await registerClient(anonymous);
    const clients = plinth.app.get(OAuthClients, { strict: false });
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now');
    const states = [89, 91].map((days) => {
      clock.mockReturnValue(now + days * 86_400_000);
      return clients.isExpired(clientId);
    });
    clock.mockRestore();
    expect(states).toEqual([false, true]);
  });
});

describe('a consent', () => {
  it('shows who asks for what, of what the person has', async () => {
    const { session } = await person('system:info:list');
    const clientId = await registerClient(anonymous, {
      redirect_uris: ['https://app.example.com/callback'],
    });
    const { request } = newRequest(clientId, {
      redirect_uri: 'https://app.example.com/callback',
      scope: 'system:info:list coding:harness:use unknown offline_access',
      resource: `${plinth.url}/mcp`,
    });
    expect(await asked(session, request)).toEqual({
      ...{ name: 'Test editor', host: 'app.example.com', isLocal: false, problem: null },
      permissions: [expect.objectContaining({ permission: 'system:info:list' })],
    });
  });

  it('is refused by the person with access_denied', async () => {
    const { session } = await person();
    const { request } = newRequest(await registerClient(anonymous));
    const { data } = done(
      await session.post<{ address: string }>('/oauth/consent', { ...request, approve: false }),
    );
    const { searchParams } = new URL(data.address);
    expect(Object.fromEntries(searchParams)).toEqual({
      ...{ error: 'access_denied', state: 'the-state', iss: plinth.url },
    });
    expect(await keysOf(session)).toEqual([]);
  });

  it('gives no permission that the person lacks or that was not asked for', async () => {
    const { session } = await person('system:info:list');
    const { request } = newRequest(await registerClient(anonymous), {
      scope: 'coding:harness:use chat:chat:use',
    });
    const beyond = { ...request, approve: true, permissions: ['coding:harness:use'] };
    expect((await session.post('/oauth/consent', beyond)).code).toBe(403);
    const unasked = { ...request, approve: true, permissions: ['system:info:list'] };
    expect((await session.post('/oauth/consent', unasked)).code).toBe(400);
    const none = { ...request, approve: true, permissions: [] };
    expect((await session.post('/oauth/consent', none)).code).toBe(400);
    expect(await keysOf(session)).toEqual([]);
  });

  it('needs a person who is signed in at home and may have keys', async () => {
    const { request } = newRequest(await registerClient(anonymous));
    const body = { ...request, approve: true, permissions: ['chat:chat:use'] };
    expect((await anonymous.post('/oauth/consent', body)).code).toBe(401);
    people += 1;
    const { session } = await makeUser(plinth, admin, `person${people}`);
    expect((await session.post('/oauth/consent', body)).code).toBe(403);
    const { access_token: key } = await connect((await person()).session, anonymous);
    expect((await withKey(anonymous, { key }).post('/oauth/consent', body)).code).toBe(403);
  });

  it.each([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no challenge', { code_challenge: '' }, 'invalid_request'],
    ['a challenge without hash', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a foreign resource', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['permissions that do not exist', { scope: 'all' }, 'invalid_scope'],
  ])('cannot be given with %s, and refusing tells the client', async (_, fields, error) => {
    const { session } = await person();
    const { request } = newRequest(await registerClient(anonymous), fields);
    expect((await asked(session, request)).problem).toEqual(expect.any(String));
    for (const isApproved of [true, false]) {
      const body = { ...request, approve: isApproved, permissions: ['chat:chat:use'] };
      const { data } = done(await session.post<{ address: string }>('/oauth/consent', body));
      const { searchParams } = new URL(data.address);
      expect(searchParams.get('error')).toBe(error);
      expect(searchParams.has('code')).toBe(false);
    }
    expect(await keysOf(session)).toEqual([]);
  });

  it.each([
    ['http://127.0.0.1:9999/callback', 200],
    ['http://127.0.0.1:9999/other', 400],
    ['http://localhost:41234/callback', 400],
    ['https://127.0.0.1:41234/callback', 400],
    ['http://127.0.0.1:41234/callback?more=1', 400],
    ['http://127.0.0.1.evil.example:41234/callback', 400],
    ['http://127.0.0.1:41234@evil.example/callback', 400],
  ])('leads back to the registered address alone: %s is answered %i', async (uri, code) => {
    const { session } = await person();
    const { request } = newRequest(await registerClient(anonymous), { redirect_uri: uri });
    const query = new URLSearchParams(request).toString();
    expect((await session.get(`/oauth/consent?${query}`)).code).toBe(code);
    const body = { ...request, approve: false };
    expect((await session.post('/oauth/consent', body)).code).toBe(code);
  });

  it('does not know a client id that was changed', async () => {
    const { session } = await person();
    const id = await registerClient(anonymous);
    const [text = '', signature = ''] = id.replace('client-', '').split('.');
    const facts = JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...facts, name: 'Bank' })).toString('base64url');
    for (const clientId of [`client-${changed}.${signature}`, 'client-x.y', 'editor']) {
      const query = new URLSearchParams(newRequest(clientId).request).toString();
      expect((await session.get(`/oauth/consent?${query}`)).code).toBe(400);
    }
  });
});

describe('a code', () => {
  async function authorized(session: Session) {
    const clientId = await registerClient(anonymous);
    const { request, verifier } = newRequest(clientId, { resource: `${plinth.url}/mcp` });
    const address = await approve(session, request);
    const fields = {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: address.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
      resource: `${plinth.url}/mcp`,
    };
    return {
      clientId,
      exchange: (change: Readonly<Record<string, string | undefined>> = {}) =>
        sendForm(anonymous, '/oauth/token', { ...fields, ...change }),
    };
  }

  it('is exchanged once; the second time everything that came of it is revoked', async () => {
    const { session } = await person();
    const { clientId, exchange } = await authorized(session);
    const { status, body, headers } = await exchange();
    expect({ status, cache: headers['cache-control'] }).toEqual({ status: 200, cache: 'no-store' });
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'chat:chat:use' });
    const tokens = { ...(body as Tokens), clientId };
    expect(await isAccepted(tokens.access_token)).toBe(true);

    expectRefusal(await exchange(), 'invalid_grant');
    expect(await isAccepted(tokens.access_token)).toBe(false);
    expectRefusal(await refresh(tokens), 'invalid_grant');
    expect((await keysOf(session))[0]?.state).toBe('revoked');
  });

  it('is refused with anything that is not that of the request', async () => {
    const { session } = await person();
    const { exchange } = await authorized(session);
    expectRefusal(await exchange({ code_verifier: 'wrong' }), 'invalid_grant');
    expectRefusal(await exchange({ code_verifier: undefined }), 'invalid_grant');
    expectRefusal(await exchange({ redirect_uri: `${REDIRECT_URI}/other` }), 'invalid_grant');
    expectRefusal(
      await exchange({ client_id: await registerClient(anonymous, { client_name: 'Other' }) }),
      'invalid_grant',
    );
    expectRefusal(await exchange({ client_id: 'nobody' }), 'invalid_client');
    expectRefusal(await exchange({ client_id: undefined }), 'invalid_client');
    expectRefusal(await exchange({ resource: 'https://evil.example/mcp' }), 'invalid_target');
    expectRefusal(await exchange({ code: 'nothing' }), 'invalid_grant');
    expectRefusal(await exchange({ code: undefined }), 'invalid_grant');
    expectRefusal(await exchange({ grant_type: 'password' }), 'unsupported_grant_type');
    expectRefusal(await exchange({ grant_type: undefined }), 'invalid_request');
    expect((await exchange()).status).toBe(200);
  });

  it('is exchanged by one of many requests at once', async () => {
    const { session } = await person();
    const { exchange } = await authorized(session);
    const answers = await Promise.all(Array.from({ length: 5 }, () => exchange()));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    expect((await keysOf(session))[0]?.state).toBe('revoked');
  });

  it('ends after two minutes', async () => {
    const { session } = await person();
    const { exchange } = await authorized(session);
    await plinth.app
      .get(Database)
      .query(
        "UPDATE api_key SET renewable_until = now() - interval '1 second' WHERE application IS NOT NULL AND user_id = (SELECT max(user_id) FROM api_key)",
      );
    expectRefusal(await exchange(), 'invalid_grant');
    expect((await keysOf(session))[0]?.state).toBe('expired');
  });
});

describe('a refresh token', () => {
  it('is exchanged once; the second time the connection is revoked', async () => {
    const { session } = await person();
    const first = await connect(session, anonymous);
    const { status, body } = await refresh(first);
    expect(status).toBe(200);
    const second = { ...(body as Tokens), clientId: first.clientId };
    expect(second.scope).toBe(first.scope);
    expect(await isAccepted(second.access_token)).toBe(true);
    const third = { ...((await refresh(second)).body as Tokens), clientId: first.clientId };
    expect(await isAccepted(third.access_token)).toBe(true);

    expectRefusal(await refresh(first), 'invalid_grant');
    for (const { access_token: token } of [first, second, third]) {
      expect(await isAccepted(token)).toBe(false);
    }
    expectRefusal(await refresh(third), 'invalid_grant');
  });

  it('is of one client, and a made-up one revokes nothing', async () => {
    const { session } = await person();
    const tokens = await connect(session, anonymous);
    const stranger = await registerClient(anonymous, { client_name: 'Other' });
    expectRefusal(await refresh({ ...tokens, clientId: stranger }), 'invalid_grant');
    const [start = ''] = tokens.refresh_token.split('.');
    const made = `${start.slice(0, -43)}${'a'.repeat(43)}.${'a'.repeat(43)}`;
    expectRefusal(await refresh({ ...tokens, refresh_token: made }), 'invalid_grant');
    expect(await isAccepted(tokens.access_token)).toBe(true);
    expect((await refresh(tokens)).status).toBe(200);
  });

  it('lets the former access token end soon, and never revives an ended one', async () => {
    const { session } = await person();
    const first = await connect(session, anonymous);
    const database = plinth.app.get(Database);
    const [key] = await keysOf(session);
    await database.query('UPDATE api_key SET expire_time = now() WHERE id = $1', [key?.id]);
    expect(await isAccepted(first.access_token)).toBe(false);
    const { body } = await refresh(first);
    expect(await isAccepted(first.access_token)).toBe(false);
    expect(await isAccepted(body.access_token ?? '')).toBe(true);
  });

  it('is of no use for a disabled person', async () => {
    const { session, id } = await person();
    const tokens = await connect(session, anonymous);
    done(await admin.put('/system/user/changeStatus', { userId: id, status: '1' }));
    expect(await isAccepted(tokens.access_token)).toBe(false);
    expectRefusal(await refresh(tokens), 'invalid_grant');
  });

  it('gives what the person may still do', async () => {
    const role = await makeRole(admin, 'changing', [...KEYS, 'system:info:list']);
    const { session } = await makeUser(plinth, admin, 'changing', [role]);
    const tokens = await connect(session, anonymous);
    const reader = withKey(anonymous, { key: tokens.access_token });
    expect((await callTool(reader, 'list_knowledge_bases')).result?.isError).toBeFalsy();
    const { data } = done(await admin.get<{ revision: number }>(`/system/role/${role}`));
    const { revision } = data;
    done(await admin.put('/system/role', { roleId: role, revision, permissions: KEYS }));
    expect((await callTool(reader, 'list_knowledge_bases')).text).toContain('-32602');
  });
});

describe('an access token', () => {
  it('is for POST /mcp alone', async () => {
    const { session } = await person('system:info:list');
    const { access_token: key } = await connect(session, anonymous);
    const limited = withKey(anonymous, { key });
    expect((await limited.get('/system/info/list')).code).toBe(403);
    expect((await limited.raw('GET', '/v1/models')).status).toBe(403);
  });

  it('is revoked by its client, alone or by the refresh token', async () => {
    for (const which of ['access_token', 'refresh_token'] as const) {
      const { session } = await person();
      const tokens = await connect(session, anonymous);
      const { clientId } = tokens;
      const revoke = (fields: object) =>
        sendForm(anonymous, '/oauth/revoke', {
          client_id: clientId,
          token: tokens[which],
          ...fields,
        });
      expect((await revoke({ client_id: 'other' })).status).toBe(200);
      expect((await revoke({ token: 'nothing' })).status).toBe(200);
      expect(await isAccepted(tokens.access_token)).toBe(true);
      expect((await revoke({})).status).toBe(200);
      expect(await isAccepted(tokens.access_token)).toBe(false);
      expectRefusal(await refresh(tokens), 'invalid_grant');
    }
  });

  it('is a key that its person sees and cannot change', async () => {
    const { session } = await person();
    await connect(session, anonymous);
    const [key] = await keysOf(session);
    const id = key?.id;
    expect(await session.put('/system/apikey', { id, withoutLimits: ['doors'] })).toMatchObject({
      code: 409,
    });
    expect(await session.post(`/system/apikey/${id}/rotate`, {})).toMatchObject({ code: 409 });
    expect(await keysOf(other)).toEqual([]);
  });

  it('of one tenant reads nothing of another', async () => {
    done(await other.post('/system/info', { name: 'Of the other tenant' }));
    const one = await connect((await person('system:info:list')).session, anonymous);
    const two = await connect(other, anonymous);
    const listed = async ({ access_token: key }: Tokens) =>
      (await callTool(withKey(anonymous, { key }), 'list_knowledge_bases')).text;
    expect(await listed(one)).not.toContain('Of the other tenant');
    expect(await listed(two)).toContain('Of the other tenant');
  });
});

describe('the metadata', () => {
  it('lead from the refusal to the server', async () => {
    const read = async (path: string): Promise<unknown> =>
      JSON.parse((await anonymous.raw('GET', path)).text) as unknown;
    const resource = await read('/.well-known/oauth-protected-resource/mcp');
    expect(resource).toMatchObject({
      ...{ resource: `${plinth.url}/mcp`, authorization_servers: [plinth.url] },
      scopes_supported: expect.arrayContaining(['chat:chat:use', 'coding:harness:approve']),
    });
    expect(await read('/.well-known/oauth-protected-resource')).toEqual(resource);
    expect(await read('/.well-known/oauth-authorization-server')).toMatchObject({
      ...{ issuer: plinth.url, code_challenge_methods_supported: ['S256'] },
      authorization_response_iss_parameter_supported: true,
    });
  });
});
