import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MEDIA_LIMITS } from '../../src/media/media.service.js';
import { overrideConstants } from '../support/override-constants.js';
import { CHAT_LIMITS } from '../../src/model/index.js';
import type { PipeTransform, Type } from '@nestjs/common';
import { inspect } from 'node:util';
import { request } from 'undici';
import { DomainError, InvalidInputError } from '../../src/platform/error/index.js';
import { isAsSent } from '../../src/platform/http/input.js';
import { inputPipe, PageQuery } from '../../src/platform/http/index.js';
import { references } from '../support/isolation/references.js';
import { COMMON_MODEL, createWorld } from '../support/isolation/world.js';
import type { Member, World } from '../support/isolation/world.js';
import {
  oddBodies,
  oddIds,
  oddQueries,
  oddQueryValues,
  oddTexts,
  oddValues,
} from '../support/odd-input.js';
import type { OddBody } from '../support/odd-input.js';
import { done, PASSWORD } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import {
  documentedTypes,
  pathParameters,
  routeTable,
  validatedFields,
} from '../support/route-table.js';
import type { Route } from '../support/route-table.js';
import type { Session } from '../support/session.js';
import { WEB_CLIENT } from '../support/template.js';

/** Longer than anything may take that ends with a refusal. */
const LIMIT_MS = 10_000;

/**
 * Codes that say what is wrong with a request. 500 says that something is wrong with the service, but for a wrong
 * password and a media model that is not there, which existing clients expect to be told so.
 */
const CODES = [200, 400, 401, 403, 404, 405, 409, 429];

/** HTTP statuses of failures below /v1 and /v1beta, also of those of the service behind a model. */
const STATUSES = [...CODES, 413, 502, 503, 504];

/** A browser is led on, to the sign-in page at least. */
const REDIRECTS = /^\/auth\/sso\/.*\/(start|callback)(\?|$)|^\/mcp\/account\/\d+\/callback(\?|$)/;

/** A document of another standard, without an envelope. */
const DOCUMENTS = /^\/mcp\/account\/\d+\/client(\?|$)/;

/** Events of a user have no end: the head of the answer tells enough. */
const ENDLESS = /^\/coding\/harness\/events\/stream(\?|$)/;

/** A provider gets the HTTP status of a refusal. */
const LOGOUTS = /^\/auth\/sso\/.*\/backchannel-logout$/;

/** A client of OAuth gets the HTTP status and the error of a refusal. */
const OAUTH = /^\/oauth\/(register|token|revoke)$/;

/** Bodies that are accepted as they are, for routes whose references do not give one. */
const acceptedBodies: Record<string, object> = {
  'POST /v1/conversations': { metadata: {} },
  'POST /v1/files': { purpose: 'user_data' },
  'POST /v1/messages/batches': {
    requests: [
      {
        custom_id: 'robust',
        params: { model: 'none', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] },
      },
    ],
  },
  'POST /mcp': { jsonrpc: '2.0', id: 'robust', method: 'ping' },
  'POST /mcp/gateway': { jsonrpc: '2.0', id: 'robust', method: 'ping' },
  'POST /agent/agent/export': {},
  'POST /monitor/logininfor/export': {},
  'POST /monitor/operlog/export': {},
  'POST /system/info/export': {},
  'POST /system/model/export': {},
  'POST /system/provider/export': {},
  'POST /system/role/export': {},
  'POST /system/session/export': {},
  'POST /system/user/export': {},
  'POST /system/user/importData': { updateSupport: true },
  'POST /coding/harness/admin/writes': { enabled: true },
  'POST /auth/login': login({ password: 'not-the-password' }),
  'POST /auth/login/second-factor': { challenge: 'none', code: '123456' },
  'POST /auth/login/second-factor/enrol': { challenge: 'none', kind: 'totp' },
  'POST /auth/login/second-factor/confirm': { challenge: 'none', code: '123456' },
  'POST /system/user/profile/second-factor': { kind: 'totp', password: 'none' },
  'POST /system/user/profile/second-factor/confirm': { challenge: 'none', code: '123456' },
  'POST /system/user/profile/second-factor/remove': { id: 1, password: 'none' },
  'POST /system/user/profile/second-factor/recovery': { password: 'none' },
  'POST /auth/sso/exchange': { clientId: WEB_CLIENT, code: 'none' },
  'POST /auth/sso/:provider/connect': { returnTo: '/account', password: 'none' },
  'POST /auth/sso/:provider/disconnect': { password: 'none' },
  'POST /auth/sso/:provider/backchannel-logout': { logout_token: 'none' },
  'POST /oauth/register': { redirect_uris: ['http://127.0.0.1/callback'] },
  'POST /oauth/token': { grant_type: 'refresh_token', client_id: 'none', refresh_token: 'none' },
  'POST /oauth/revoke': { token: 'none' },
  'POST /oauth/consent': {
    client_id: 'none',
    redirect_uri: 'http://127.0.0.1/callback',
    approve: false,
  },
  'POST /auth/register': login({ password: PASSWORD }),
  'POST /scim/v2/Users': { userName: 'robust@example.com' },
  'POST /system/dict/type': { dictName: 'Type', dictType: 'robust_type' },
  'POST /system/group': { displayName: 'Robust' },
  'POST /system/info': { name: 'Robust' },
  'POST /mcp/account/:serverId/connect': { returnTo: '/account' },
  'POST /mcp/server': { name: 'robust', address: 'https://tools.example.com/mcp' },
  'POST /schedule': { name: 'Robust', kind: 'chat', message: 'Hello', cron: '0 6 * * *' },
  'POST /system/search': {
    name: 'Robust',
    code: 'searxng',
    address: 'https://search.example.com',
  },
  'POST /system/limit/target': { kind: 'webhook', address: 'https://hooks.example.com/robust' },
  'POST /system/provider': { providerName: 'Robust', providerCode: 'robust' },
  'POST /system/role': { roleName: 'Robust', roleKey: 'robust', permissions: [] },
  'POST /system/tenant': { companyName: 'Robust', username: 'boss', password: PASSWORD },
  'POST /system/client': {
    clientKey: 'robust',
    clientSecret: 'robust-secret-1',
    grantTypeList: ['password'],
  },
  'POST /system/session': { sessionTitle: 'Robust' },
  'PUT /system/retention': {
    rules: [{ recordClass: 'chats', days: 90 }],
    temporaryChats: 'allowed',
  },
  'PUT /system/user/profile/retention': { rules: [{ recordClass: 'chats', days: 90 }] },
  'PUT /system/user/profile': { nickName: 'Robust' },
  'PUT /system/user/profile/updatePwd': {
    oldPassword: 'not-the-old-one',
    newPassword: 'the-new-one-1',
  },
};

function login(secret: { password: string }): object {
  const who = { tenantId: '000000', username: 'nobody-at-all', clientId: WEB_CLIENT };
  return { ...who, grantType: 'password', ...secret };
}

/** So many faults of one kind tell enough. */
const SHOWN = 3;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `PLINTH_TEST_ROUTE='/system/model'` runs the suite for the routes whose key contains the text. */
const chosenRoutes = process.env['PLINTH_TEST_ROUTE'] ?? '';
let plinth: Plinth;
let world: World;
let routes: Route[];
/** As the application checks bodies and queries, and as it reads queries. */
const check = inputPipe();
let readQuery: (text: string) => unknown;

overrideConstants(CHAT_LIMITS, { attempts: 1 });

overrideConstants(MEDIA_LIMITS, { requestsPerMinute: 1_000_000 });

beforeAll(async () => {
  // Nobody listens where the models are: one attempt tells as much as several.
  plinth = await Plinth.start();
  world = await createWorld(plinth);
  const express = plinth.app.getHttpAdapter().getInstance();
  readQuery = express.get('query parser fn') as typeof readQuery;
  routes = routeTable(plinth.app).filter(({ key }) => key.includes(chosenRoutes));
});

afterAll(() => plinth.stop());

afterEach(async () => {
  expect(await plinth.anonymous().raw('GET', '/health/live')).toMatchObject({ status: 200 });
  done(await world.owner.session.get('/system/user/getInfo'));
});

interface Outcome {
  /** What is wrong with the answer; undefined for a refusal, or for an answer as it should be. */
  readonly fault?: string | undefined;
  /** The service did what it was asked to. */
  readonly isAccepted?: boolean;
}

async function outcome(session: Session, sent: Sent): Promise<Outcome> {
  const label = `${sent.method} ${sent.path.slice(0, 120)} ${shortened(sent.body)}`;
  try {
    const { statusCode, headers, body } = await request(plinth.url + sent.path, {
      method: sent.method as 'GET',
      headers: { ...session.headers, ...sent.headers },
      ...(sent.body !== undefined && { body: sent.body }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const type = String(headers['content-type']);
    if (ENDLESS.test(sent.path) && statusCode === 200 && type.startsWith('text/event-stream')) {
      body.on('error', () => undefined).destroy();
      return { isAccepted: true };
    }
    const text = await body.text();
    const isAccepted = statusCode < 300 && !/^\{"code":(?!200\b)/.test(text);
    const result = (wrong: string | undefined): Outcome =>
      wrong === undefined ? { isAccepted } : { fault: `${label}: ${wrong}` };
    if (
      /^\/v1(beta)?\//.test(sent.path) &&
      (statusCode !== 200 ||
        /^\{("data"|"input_tokens"|"models"|"totalTokens"|.*"object"):/.test(text))
    ) {
      const wrong = faultBelowV1(statusCode, text);
      return result(wrong);
    }
    if (/^\/mcp(\/gateway)?$/.test(sent.path)) return result(faultOfMcp(statusCode, text));
    if (sent.path.startsWith('/scim/')) {
      const wrong = faultOfScim(statusCode, text);
      return result(wrong);
    }
    if (REDIRECTS.test(sent.path) && statusCode === 302) return {};
    if (DOCUMENTS.test(sent.path) && text.startsWith('{"client_id":')) return {};
    if (LOGOUTS.test(sent.path) && [400, 429].includes(statusCode)) {
      return result(text.startsWith('{"error":"invalid_request",') ? undefined : text);
    }
    if (OAUTH.test(sent.path)) {
      const isTold = [400, 429].includes(statusCode) && /^\{"error":"\w+",/.test(text);
      return result(isAccepted || isTold ? undefined : `HTTP ${statusCode} ${text}`);
    }
    const codes = /^\/(auth|media)\/|updatePwd$|\/second-factor/.test(sent.path)
      ? [...CODES, 500]
      : CODES;
    const wrong = faultOf(codes, { status: statusCode, type, text });
    return result(wrong);
  } catch (error) {
    return { fault: `${label}: ${String(error)}` };
  }
}

function faultBelowV1(status: number, text: string): string | undefined {
  if (text.includes('Something went wrong')) return text;
  if (status === 200) return undefined;
  const { error } = JSON.parse(text) as { error?: { message?: unknown; type?: unknown } };
  const isTold = typeof error?.message === 'string' && error.message !== '' && error.type !== '';
  return isTold && STATUSES.includes(status) ? undefined : `HTTP ${status} ${text.slice(0, 200)}`;
}

/** Refusals of the protocol, and results in JSON or as an event. */
function faultOfMcp(status: number, text: string): string | undefined {
  if (status === 202 && text === '') return undefined;
  const { error, result } = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text) as {
    error?: { code?: unknown; message?: unknown };
    result?: unknown;
  };
  if (status === 200 && result !== undefined) return undefined;
  const isTold = typeof error?.message === 'string' && error.message !== '';
  const isRefusal = [200, 406, 413, 415, ...STATUSES].includes(status);
  const isFault = text.includes('Something went wrong') || error?.code === -32_603;
  return isTold && isRefusal && !isFault ? undefined : `HTTP ${status} ${text.slice(0, 200)}`;
}

function faultOfScim(status: number, text: string): string | undefined {
  if (status === 204 && text === '') return undefined;
  const { detail } = JSON.parse(text) as { detail?: unknown };
  if (status === 200 || status === 201) return undefined;
  const isTold = typeof detail === 'string' && !detail.includes('Something went wrong');
  const isKnown = status !== 200 && [...CODES, 413].includes(status);
  return isTold && isKnown ? undefined : `HTTP ${status} ${text.slice(0, 200)}`;
}

function faultOf(
  codes: readonly number[],
  seen: { status: number; type: string; text: string },
): string | undefined {
  const { status, type, text } = seen;
  if (status !== 200) return `HTTP ${status} ${text.slice(0, 200)}`;
  if (text.includes('Something went wrong')) return text;
  if (type.startsWith('text/event-stream')) {
    return /^event: (done|\[ERROR\])$/m.test(text) ? undefined : `a stream without end: ${text}`;
  }
  if (type.endsWith('spreadsheetml.sheet')) {
    return text.startsWith('PK') ? undefined : 'a workbook that is no archive';
  }
  if (type.startsWith('text/csv')) {
    return /^\uFEFF?(id,callTime|line),/.test(text) ? undefined : 'a table without its header';
  }
  if (!type.startsWith('application/json')) return `an answer of type ${type}`;
  const { code, msg } = JSON.parse(text) as { code?: number; msg?: unknown };
  const isEnvelope = codes.includes(code ?? 0) && typeof msg === 'string' && msg !== '';
  return isEnvelope ? undefined : `no good envelope: ${text.slice(0, 200)}`;
}

async function outcomesOf(session: Session, all: readonly Sent[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const sent of all) outcomes.push(await outcome(session, sent));
  return outcomes;
}

function faultsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ fault }) => fault ?? []).slice(0, SHOWN);
}

async function faults(session: Session, all: readonly Sent[]): Promise<string[]> {
  return faultsOf(await outcomesOf(session, all));
}

const REFUSED = 'refused by the check';

/**
 * What the code of a route is given for a body or query, as a text, or REFUSED. Values that are given alike, such as those whose
 * fields the DTO does not have, differ for nothing that comes later.
 */
async function givenFor(type: 'body' | 'query', metatype: Type, value: unknown): Promise<string> {
  try {
    const given: unknown = await check.transform(value, { type, metatype });
    return inspect(given, { depth: null, maxArrayLength: null, maxStringLength: null });
  } catch (error) {
    if (error instanceof InvalidInputError && error.message !== '') return REFUSED;
    throw error;
  }
}

interface DistinctRequests<Request> {
  /** One of each that the code of the route is given alike. */
  readonly accepted: Request[];
  /** The first that the check refuses. */
  readonly refused: Request[];
}

/**
 * The requests for one field that differ for the code of the route, which is given `given` for each. A refusal is answered the
 * same way whatever the value was.
 */
function distinctRequests<Request>(
  all: readonly Request[],
  given: readonly string[],
): DistinctRequests<Request> {
  const firsts = new Map<string, Request>();
  for (const [index, one] of all.entries()) {
    const kind = given[index] ?? REFUSED;
    if (!firsts.has(kind)) firsts.set(kind, one);
  }
  const refused = firsts.get(REFUSED);
  firsts.delete(REFUSED);
  return { accepted: [...firsts.values()], refused: refused === undefined ? [] : [refused] };
}

/**
 * Of a field that is handed to the code of the route as it was sent: the JSON type of the value where OpenAPI shows others for
 * the field. The schemas below /v1 refuse it by its type, whatever it holds.
 */
function wrongType(dto: Type, field: string, value: string): string | undefined {
  const types = isAsSent(dto) ? documentedTypes(dto, field) : undefined;
  const type = jsonType(JSON.parse(value));
  return types === undefined || types.includes(type) ? undefined : `a wrong type: ${type}`;
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** A path in which every parameter is one that names nothing, but for a call of a model, whose body would not be read. */
function anyPath({ path }: Route): string {
  return path.replace(/:\w+/g, (name) =>
    name === ':call' ? `${COMMON_MODEL}:generateContent` : '987654321',
  );
}

function withBody(): Route[] {
  return routes.filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));
}

/**
 * One of the routes for each way in which a body that is refused early may be answered: by the area, which decides the form of
 * failures, by who may call, by what the route declares of reading bodies, and by whether it has a DTO, before which the
 * limits are checked.
 */
function readersOfBodies(): Route[] {
  const readers = new Map<string, Route>();
  for (const route of withBody()) {
    const { path, rule, bodyRule, body } = route;
    const [, area, protocol] = path.split('/');
    const way = [area, area === 'v1' && protocol, rule?.kind, bodyRule, body !== undefined].join();
    readers.set(way, route);
  }
  return [...readers.values()];
}

type Asks<Value> = (route: Route, value: Value) => boolean;

/**
 * Says which of the values a route has to be asked with: one of each kind, which is what refuses it before the code of the route,
 * or what that code is given. That is another one for each route, so that each value is asked for somewhere.
 */
async function chosenFor<Value>(
  all: readonly Route[],
  values: readonly Value[],
  kindOf: (route: Route, value: Value) => Promise<string>,
): Promise<Asks<Value>> {
  const asked = new Map<string, ReadonlySet<Value>>();
  for (const [at, route] of all.entries()) {
    const byKind = new Map<string, Value[]>();
    for (const value of values) {
      const kind = await kindOf(route, value);
      byKind.set(kind, [...(byKind.get(kind) ?? []), value]);
    }
    asked.set(
      route.key,
      new Set([...byKind.values()].flatMap((list) => list[at % list.length] ?? [])),
    );
  }
  return ({ key }, value) => asked.get(key)?.has(value) ?? false;
}

/** What the code of the route is given for the body. A form with files is read by the route itself. */
async function kindOfBody({ body: dto, bodyRule }: Route, odd: OddBody): Promise<string> {
  const type = odd.headers?.['content-type'] ?? '';
  const isOwn =
    type.startsWith('multipart/') || (bodyRule.includes('true') && /urlencoded/.test(type));
  if (dto === undefined || isOwn) return odd.name;
  let body: unknown;
  try {
    const text = String(odd.bytes).replace(/^\ufeff/, '');
    if (type.startsWith('application/json') && text !== '') body = JSON.parse(text);
  } catch {
    return odd.name;
  }
  return givenFor('body', dto, body);
}

/** What refuses the id in the path of the route: Express, the check of all paths, or a pipe; else the id itself. */
async function kindOfId({ parameters }: Route, id: string): Promise<string> {
  let text: string;
  try {
    text = decodeURIComponent(id);
  } catch {
    return 'Express';
  }
  const refuses = async (pipe: PipeTransform, name?: string): Promise<boolean> => {
    try {
      await pipe.transform(text, { type: 'param', metatype: String, data: name });
      return false;
    } catch (error) {
      if (error instanceof DomainError) return true;
      throw error;
    }
  };
  if (await refuses(check)) return 'the check of all paths';
  for (const { source, name, pipes } of parameters) {
    if (source !== 'path') continue;
    for (const Pipe of pipes) if (await refuses(new Pipe(), name)) return Pipe.name;
  }
  return id;
}

/** Somebody who may call the route; the sign-in must not end by it. */
function callerOf({ key, rule }: Route): Session {
  if (rule?.kind === 'public') return plinth.anonymous();
  return /(tenant|client)/.test(key) ? world.root.session : world.owner.session;
}

describe('odd bodies', () => {
  let readers: Route[];
  let isAsked: Asks<OddBody>;

  beforeAll(async () => {
    readers = readersOfBodies();
    const later = oddBodies.filter(({ isRefusedEarly }) => !isRefusedEarly);
    isAsked = await chosenFor(withBody(), later, kindOfBody);
  });

  it.each(oddBodies)('$name is refused or ignored by every route', async (body) => {
    const { bytes, headers } = body;
    const found: string[] = [];
    for (const route of withBody()) {
      if (!readers.includes(route) && !isAsked(route, body)) continue;
      if (found.length >= SHOWN) break;
      const sent = {
        method: route.method,
        path: anyPath(route),
        body: bytes,
        ...(headers && { headers }),
      };
      found.push(...(await faults(callerOf(route), [sent])));
    }

    expect(found).toEqual([]);
  });

  it('are refused early on a route whose DTO accepts any of them', async () => {
    for (const { name, bytes, headers, isRefusedEarly } of oddBodies) {
      if (!isRefusedEarly) continue;
      const { body } = await request(`${plinth.url}/system/role/export`, {
        method: 'POST',
        headers: { ...world.owner.session.headers, ...headers },
        body: bytes,
      });
      const answer: unknown = await body.json();

      expect([name, answer]).toEqual([
        name,
        expect.objectContaining({ code: 400, msg: expect.stringContaining('request body') }),
      ]);
    }
  });

  it('adds no field to every object', () => {
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });
});

describe('odd fields', () => {
  const keys = [...Object.keys(acceptedBodies), ...Object.keys(references)]
    .filter((key) => key.includes(chosenRoutes))
    .filter(
      (key) => acceptedBodies[key] ?? Object.values(references[key] ?? {}).some(({ body }) => body),
    );

  /** A body of which only the field in question is odd. */
  async function acceptedBody(key: string, by: Member): Promise<object> {
    const [reference] = Object.values(references[key] ?? {}).filter(({ body }) => body);
    if (!reference?.body) return acceptedBodies[key] ?? {};
    return reference.body(await reference.kind.make(by, world), by, world);
  }

  it('are known for every route with a body', () => {
    const missing = withBody().filter(({ key, body }) => body && !keys.includes(key));

    expect(missing.map(({ key }) => key)).toEqual([]);
  });

  it.each(keys)('of %s are refused or stored', async (key) => {
    const route = routes.find((one) => one.key === key);
    const session = route && callerOf(route);
    const dto = route?.body;
    if (!dto || !session) throw new Error(`${key} has no body.`);
    const by = session === world.root.session ? world.root : world.owner;
    const givenAs = (body: string): Promise<string> => givenFor('body', dto, JSON.parse(body));
    const whole = await acceptedBody(key, by);
    expect(await givenFor('body', dto, whole)).not.toBe(REFUSED);
    const sent = (body: string): Sent => ({
      method: route.method,
      path: anyPath(route),
      body,
      headers: { 'content-type': 'application/json' },
    });
    const fields = validatedFields(dto);
    const values = fields.map(async (field) => {
      const pairs = oddValues.map(
        async (value) => [value, await givenAs(withFields(whole, [field], value))] as const,
      );
      return [field, new Map(await Promise.all(pairs))] as const;
    });
    /** What the code of the route is given for each value of a field. */
    const given = new Map(await Promise.all(values));
    // What an export accepts it reads as the list of its feature does, and that one is asked for all of it below.
    const isExport = key.endsWith('/export');
    const storedTogether = new Set<string>();
    for (const value of isExport ? [] : oddTexts) {
      const accepting = fields.filter((field) => given.get(field)?.get(value) !== REFUSED);
      const body = withFields(whole, accepting, value);
      if (accepting.length < 2 || (await givenAs(body)) === REFUSED) continue;
      if ((await outcome(session, sent(body))).isAccepted) {
        for (const field of accepting) storedTogether.add(`${field} ${value}`);
      }
    }
    const faulty: string[] = [];
    let refusals: Sent[] = [];
    let accepted = await acceptedBody(key, by);
    for (const [nth, field] of fields.entries()) {
      const chosen = [...oddValues.slice(nth), ...oddValues.slice(0, nth)].filter(
        (value) => !storedTogether.has(`${field} ${value}`),
      );
      const kinds = chosen.map(
        (value) => wrongType(dto, field, value) ?? given.get(field)?.get(value) ?? REFUSED,
      );
      const bodies = chosen.map((value) => sent(withFields(accepted, [field], value)));
      const distinct = distinctRequests(bodies, kinds);
      const asked = isExport ? distinct.accepted.slice(0, 1) : distinct.accepted;
      const outcomes = await outcomesOf(session, asked);
      faulty.push(...faultsOf(outcomes));
      refusals = [...refusals, ...distinct.refused];
      // A request that was accepted may have changed the record, or ended it.
      if (outcomes.some(({ isAccepted }) => isAccepted)) accepted = await acceptedBody(key, by);
    }
    faulty.push(...(await faults(session, refusals.slice(0, 1))));

    expect(faulty).toEqual([]);
  });
});

describe('odd parts', () => {
  /** Attributes of users and groups, whose DTOs leave them to the code of SCIM. */
  const attributes = ['userName', 'name', 'emails', 'phoneNumbers', 'active', 'members'];

  /** Each attribute with each value; the shape and the operation change, so that each attribute meets all pairs of them. */
  function oddParts(odd: string, at: number): string[] {
    const shapes = [odd, `{"value":${odd}}`, `[{"value":${odd},"type":${odd}}]`];
    const operations = [
      `{"op":${odd},"path":"active","value":true}`,
      `{"op":"add","path":${odd},"value":true}`,
      `{"op":"replace","value":${odd}}`,
      ...attributes.map((name, nth) => {
        const value = shapes[(at + nth) % shapes.length] ?? '';
        const ways = [
          `{"op":"replace","path":"${name}","value":${value}}`,
          `{"op":"remove","path":"${name}","value":${value}}`,
          `{"op":"add","value":{"${name}":${value}}}`,
        ];
        return ways[Math.floor((at + nth) / shapes.length) % ways.length] ?? '';
      }),
    ];
    return operations.map((operation) => `{"Operations":[${operation}]}`);
  }

  it.each([
    ['Users', { userName: 'odd@example.com' }],
    ['Groups', { displayName: 'Odd' }],
  ])('of the operations on %s are refused or stored', async (kind, accepted) => {
    const { session } = world.owner;
    const headers = { 'content-type': 'application/json' };
    const made = await session.raw('POST', `/scim/v2/${kind}`, accepted);
    const { id } = JSON.parse(made.text) as { id: string };
    const path = `/scim/v2/${kind}/${id}`;
    const bodies = oddValues.flatMap(oddParts);

    expect(id).toMatch(/^\d+$/);
    expect(
      await faults(
        session,
        bodies.map((body) => ({ method: 'PATCH', path, body, headers })),
      ),
    ).toEqual([]);
  });
});

describe('odd ids', () => {
  let withId: Route[];
  let isAsked: Asks<string>;

  beforeAll(async () => {
    withId = routes.filter((one) => pathParameters(one).length > 0);
    isAsked = await chosenFor(withId, oddIds, kindOfId);
  });

  it.each(oddIds.map((id) => [id.slice(0, 40), id] as const))('%s in a path', async (_, id) => {
    const found: string[] = [];
    for (const route of withId.filter((one) => isAsked(one, id))) {
      const path = route.path.replace(/:\w+/g, id);
      found.push(...(await faults(callerOf(route), [{ method: route.method, path }])));
    }

    expect(found).toEqual([]);
  });
});

describe('odd queries', () => {
  let isAsked: Asks<string>;

  beforeAll(async () => {
    const withQuery = routes.filter((one) => one.query);
    isAsked = await chosenFor(withQuery, oddQueries, async ({ query }, text) =>
      query ? givenFor('query', query, readQuery(text)) : text,
    );
  });

  it.each(oddQueries.map((query) => [query.slice(0, 40), query] as const))(
    '%s',
    async (_, query) => {
      const found: string[] = [];
      for (const route of routes.filter((one) => isAsked(one, query))) {
        const path = `${anyPath(route)}?${query}`;
        found.push(...(await faults(callerOf(route), [{ method: route.method, path }])));
      }

      expect(found).toEqual([]);
    },
  );

  it('have odd values in every field that is read', async () => {
    // All lists have the same fields of pages, and read them by the same code: each is asked with another value that is accepted.
    const ofPages = validatedFields(PageQuery);
    const faulty: string[] = [];
    for (const [nth, route] of routes.entries()) {
      const { query } = route;
      if (!query) continue;
      const chosen: Sent[] = [];
      let refusals: Sent[] = [];
      for (const field of validatedFields(query)) {
        const pairs = [
          ...oddQueryValues.map((value) => `${field}=${value}`),
          `${field}[]=%00`,
          `${field}[]=1&${field}[]=99999999999999999999`,
          `${field}[a]=1`,
          `${field}=1&${field}=2`,
        ];
        const sent = pairs.map((pair) => ({ method: route.method, path: `${route.path}?${pair}` }));
        const given = pairs.map((pair) => givenFor('query', query, readQuery(pair)));
        const { accepted, refused } = distinctRequests(sent, await Promise.all(given));
        chosen.push(
          ...(ofPages.includes(field)
            ? accepted.slice(nth % accepted.length).slice(0, 1)
            : accepted),
        );
        refusals = [...refusals, ...refused];
      }
      faulty.push(...(await faults(callerOf(route), [...chosen, ...refusals.slice(0, 1)])));
    }

    expect(faulty).toEqual([]);
  }, 400_000);
});

describe('odd sign-ins', () => {
  const odd = [
    '',
    'null',
    'undefined',
    '[]',
    '{}',
    'Bearer',
    'Bearer null',
    'Bearer a.b.c',
    'Basic YTpi',
    'x'.repeat(8_000),
  ];

  it.each(odd.map((value) => [value.slice(0, 20), value] as const))(
    '%s is none',
    async (_, value) => {
      for (const path of ['/system/user/getInfo', '/resource/sse']) {
        const headers = { authorization: value, clientid: WEB_CLIENT };
        const { text } = await plinth.anonymous().raw('GET', path, undefined, headers);

        expect(JSON.parse(text)).toMatchObject({ code: 401, data: null });
      }
    },
  );

  it('in a query are none either', async () => {
    const queries = [
      'Authorization=&clientid=',
      'Authorization[]=x&clientid[]=y',
      'Authorization[a]=x&clientid=null',
      'Authorization=null&clientid=null',
    ];
    for (const query of queries) {
      const { text } = await plinth.anonymous().raw('GET', `/resource/sse?${query}`);

      expect(JSON.parse(text)).toMatchObject({ code: 401, data: null });
    }
  });

  it('with the token of another client are none', async () => {
    const { headers } = world.owner.session;
    for (const clientid of ['', 'null', '428a8310cd442757ae699df5d894f051']) {
      const { text } = await plinth
        .anonymous()
        .raw('GET', '/system/user/getInfo', undefined, { ...headers, clientid });

      expect(JSON.parse(text)).toMatchObject({ code: 401 });
    }
  });
});

describe('odd methods', () => {
  it.each(['PATCH', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    '%s on a route that has it not',
    async (method) => {
      const found = await faults(world.owner.session, [
        { method, path: '/chat/send' },
        { method, path: '/no/such/route' },
        { method, path: '/%' },
        { method, path: `/${'a/'.repeat(2_000)}` },
      ]);

      expect(found).toEqual([]);
    },
  );
});

function shortened(body: Buffer | string | undefined): string {
  const text = String(body ?? '');
  return text.length <= 200 ? text : `${text.slice(0, 150)}…${text.slice(-50)}`;
}

/** The body as JSON with the fields as given, which may be something that JSON.stringify never writes. */
function withFields(body: object, fields: readonly string[], value: string): string {
  const others = Object.entries(body).filter(([name]) => !fields.includes(name));
  const texts = others.map(([name, other]) => `${JSON.stringify(name)}:${JSON.stringify(other)}`);
  const odd = fields.map((field) => `${JSON.stringify(field)}:${value}`);
  return `{${[...texts, ...odd].join(',')}}`;
}
