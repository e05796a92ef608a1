import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { ASK_AGENT, TOOLS } from '../../src/mcp-server/tools.js';
import { Database } from '../../src/platform/database/index.js';
import { writesOf } from '../support/tables.js';
import { markWith } from '../support/isolation/records.js';
import { noReferences } from '../support/isolation/references.js';
import {
  isWorkbook,
  listedReferences as listed,
  neutral,
  prepare,
  toolReferences,
} from '../support/isolation/requests.js';
import type { Seen } from '../support/isolation/requests.js';
import { createWorld } from '../support/isolation/world.js';
import type { Member, World } from '../support/isolation/world.js';
import { Plinth } from '../support/plinth.js';
import { ENDLESS, pathParameters, routeTable, validatedFields } from '../support/route-table.js';
import type { Route } from '../support/route-table.js';
import { Session } from '../support/session.js';

let plinth: Plinth;
let world: World;
let routes: Map<string, Route>;

beforeAll(async () => {
  plinth = await Plinth.start();
  world = await createWorld(plinth);
  routes = new Map(routeTable(plinth.app).map((route) => [route.key, route]));
});

afterAll(() => plinth.stop());

const REFERENCE_NAME = /^ids?$|Ids?$/;

/** The parameters of a route that may name a record: those of the path, and fields called like one. */
function referencesOf(route: Route): string[] {
  const ofPaths = new Set([...routes.values()].flatMap(pathParameters));
  const fields = [route.body, route.query]
    .filter((dto): dto is Type => dto !== undefined)
    .flatMap(validatedFields)
    .filter((field) => REFERENCE_NAME.test(field) || ofPaths.has(field));
  return [...pathParameters(route), ...fields].map((field) => `${route.key} ${field}`);
}

describe('the list of references', () => {
  it('has every parameter of every route that names a record', () => {
    const known = new Set([
      ...listed.map(({ key, field }) => `${key} ${field}`),
      ...Object.keys(noReferences),
    ]);
    const found = [...routes.values()].flatMap(referencesOf);

    expect(found.filter((one) => !known.has(one))).toEqual([]);
    expect(found.length).toBeGreaterThan(60);
  });

  it('names only what is there', () => {
    const wrong = listed.filter(({ key, field }) => {
      const route = routes.get(key);
      const fields = [route?.body, route?.query].flatMap((dto) =>
        dto ? validatedFields(dto) : [],
      );
      // `runs.runId` is the field runId of the objects in runs.
      const [top = field] = field.split('.');
      return !route || ![...pathParameters(route), ...fields].includes(top);
    });
    const found = new Set([...routes.values()].flatMap(referencesOf));

    expect(wrong.map(({ key, field }) => `${key} ${field}`)).toEqual([]);
    expect(Object.keys(noReferences).filter((one) => !found.has(one))).toEqual([]);
  });
});

describe('the tools of POST /mcp', () => {
  it('are tried with every id that they take', () => {
    const tried = new Set(toolReferences.map(({ key, field }) => `${key} ${field}`));
    const fields = TOOLS.filter(({ name }) => name !== ASK_AGENT).flatMap(({ route, fields }) =>
      [...[...route.matchAll(/:(\w+)/g)].map(([, name]) => name ?? ''), ...fields]
        .filter((field) => REFERENCE_NAME.test(field))
        .map((field) => `${route} ${field}`),
    );
    const untried = fields.filter((one) => !tried.has(one) && !Object.hasOwn(noReferences, one));
    expect(untried).toEqual([]);
    expect(tried.size).toBeGreaterThan(15);
  });
});

describe('the comparison of the tables', () => {
  it('sees a row that is written with the values it had', async () => {
    const before = await writesOf(plinth);
    expect(await writesOf(plinth)).toEqual(before);
    await plinth.app.get(Database).query('UPDATE tenant SET tenant_id = tenant_id');

    const { tenant, ...others } = await writesOf(plinth);
    expect(tenant).not.toBe(before['tenant']);
    expect({ tenant: before['tenant'], ...others }).toEqual(before);
  });
});

describe.each([...listed, ...toolReferences])('$name with a $field of others', (one) => {
  const { key, reference } = one;
  const { kind, code = kind.owner === 'installation' ? 403 : 404 } = reference;

  /** Those who must not learn that it exists, and those who must not even ask. */
  function strangers(): Member[] {
    if (kind.owner === 'installation') {
      return kind.delegable ? [world.owner] : [world.owner, world.overgranted];
    }
    const elsewhere = [world.neighbour, world.root];
    if (kind.owner === 'tenant') return elsewhere;
    return [...elsewhere, world.colleague, ...(kind.supervised ? [] : [world.visitor])];
  }

  function owner(): Member {
    return kind.owner === 'installation' ? world.root : world.owner;
  }

  /** What the requests name. It is made once: a test fails where one of them has changed anything. */
  let foreign: string;

  beforeAll(async () => {
    foreign = await kind.make(owner(), world);
  });

  it('answers strangers as if there were none, and changes nothing', async () => {
    const asks = [];
    for (const stranger of strangers()) {
      const ask = await prepare(one, foreign, stranger, world);
      const askMissing = await prepare(one, kind.missing, stranger, world);
      asks.push({ stranger, ask, askMissing });
    }
    const before = await writesOf(plinth);
    for (const { stranger, ask, askMissing } of asks) {
      const seen = await ask(stranger.session);
      const seenMissing = await askMissing(stranger.session);

      expect(neutral(seen, foreign)).toEqual(neutral(seenMissing, kind.missing));
      expectCode(seenMissing, code);
    }
    expect(await writesOf(plinth)).toEqual(before);
  });

  it('refuses those who may not, whatever the id', async () => {
    const ask = await prepare(one, foreign, owner(), world);
    const before = await writesOf(plinth);
    const needsPermission = routes.get(key)?.rule?.kind === 'permission';
    const refusals = [
      { session: new Session(plinth.url, {}), refusal: 401 },
      { session: world.disabled.session, refusal: 401 },
      ...(needsPermission ? [{ session: world.nobody.session, refusal: 403 }] : []),
    ];
    for (const { session, refusal } of refusals) expectCode(await ask(session), refusal);

    expect(await writesOf(plinth)).toEqual(before);
  });

  if (reference.several && kind.owner !== 'installation') {
    it('does nothing for a list of own and foreign ones', async () => {
      const stranger = world.neighbour;
      const own = await kind.make(stranger, world);
      for (const order of [(id: string) => `${own},${id}`, (id: string) => `${id},${own}`]) {
        const ask = await prepare(one, order(foreign), stranger, world);
        const askMissing = await prepare(one, order(kind.missing), stranger, world);
        const before = await writesOf(plinth);
        const seen = await ask(stranger.session);
        const seenMissing = await askMissing(stranger.session);

        expect(neutral(seen, foreign)).toEqual(neutral(seenMissing, kind.missing));
        expectCode(seen, code);
        expect(await writesOf(plinth)).toEqual(before);
      }
    });
  }
});

describe('what needs no id', () => {
  const ofTenant = 'heron';
  const ofUser = 'egret';
  const ofOwner = 'stork';
  /** Pages of 50 models, of which the tests before may have made more. */
  const GEMINI_MODELS = 'GET /v1beta/models';

  /** Everything that can be read without naming a record. */
  async function readAll({ session }: Member): Promise<Map<string, string>> {
    const seen = new Map<string, string>();
    for (const route of routes.values()) {
      const isStream = ENDLESS.has(route.path);
      if (route.method !== 'GET' || isStream || pathParameters(route).length > 0) continue;
      // The list's own parameter does not belong to anybody.
      if (/authUser|dynamic/.test(route.path)) continue;
      const whole = route.key === GEMINI_MODELS ? `${route.path}?pageSize=1000` : route.path;
      seen.set(route.key, (await session.raw('GET', whole)).text);
    }
    return seen;
  }

  async function leaksTo(member: Member, mark: string): Promise<string[]> {
    const seen = await readAll(member);
    return [...seen].filter(([, text]) => text.includes(mark)).map(([key]) => key);
  }

  it('shows nothing of other tenants and other users', async () => {
    const kinds = new Set(listed.map(({ reference }) => reference.kind));
    for (const kind of kinds) {
      if (kind.owner === 'installation') continue;
      const mark = kind.supervised ? ofOwner : ofUser;
      markWith(kind.owner === 'tenant' ? ofTenant : mark);
      await kind.make(world.owner, world);
    }
    markWith('');

    expect((await leaksTo(world.owner, ofTenant)).length).toBeGreaterThan(8);
    expect(await leaksTo(world.owner, ofUser)).toEqual([
      'GET /media/task/list',
      'GET /schedule/list',
      'GET /system/message/list',
      'GET /system/session/list',
      'GET /v1/files',
    ]);
    expect(await leaksTo(world.owner, ofOwner)).toEqual([
      'GET /access/list',
      'GET /coding/harness/approvals',
      'GET /coding/harness/sessions',
      'GET /system/attach/list',
      'GET /system/fragment/list',
      'GET /system/info/list',
    ]);
    for (const stranger of [world.neighbour, world.root, world.colleague, world.nobody]) {
      expect(await leaksTo(stranger, ofOwner)).toEqual([]);
    }
    for (const stranger of [world.neighbour, world.root]) {
      expect(await leaksTo(stranger, ofTenant)).toEqual([]);
    }
    // Agents, models and sign-ins are there to be used by everybody of the tenant.
    expect(await leaksTo(world.nobody, ofTenant)).toEqual([
      'GET /access/list',
      'GET /agent/agent/agentOptions',
      'GET /auth/sso/connections',
      'GET /v1/models',
      GEMINI_MODELS,
    ]);
    for (const stranger of [world.neighbour, world.root, world.colleague, world.visitor]) {
      expect(await leaksTo(stranger, ofUser)).toEqual([]);
    }
  });
});

/** An event stream says in words why it ends. */
function expectCode({ status, text, type }: Seen, code: number): void {
  if (text.includes('"jsonrpc"')) {
    expectToolCode({ status, text }, code);
    return;
  }
  // Below /v1 the status is the code.
  if (/^{("type":"error",)?"error":{/.test(text)) {
    expect({ status, text }).toEqual({ status: code, text });
    return;
  }
  if (text.includes('scim:api:messages:2.0:Error')) {
    expect({ status, text }).toEqual({ status: code, text });
    return;
  }
  expect(status).toBe(200);
  if (String(type).startsWith('text/event-stream')) {
    expect(text).toContain('event: [ERROR]');
    return;
  }
  // Without rows: the test compares it with that of an id which names nothing.
  if (isWorkbook({ type })) {
    expect(code).toBe(200);
    return;
  }
  if (String(type).startsWith('text/csv')) {
    expect({ code, lines: text.trim().split('\r\n').length }).toEqual({ code: 200, lines: 1 });
    return;
  }
  const { code: answered, msg, data, rows } = JSON.parse(text) as Record<string, unknown>;
  expect({ answered, msg }).toEqual({ answered: code, msg });
  if (code === 200 && data === undefined) expect(rows).toEqual([]);
}

/** A tool without its permission is none; other refusals are results that a model reads. */
function expectToolCode({ status, text }: Pick<Seen, 'status' | 'text'>, code: number): void {
  const { error, result } = JSON.parse(text) as {
    error?: { code: number };
    result?: { isError?: boolean; structuredContent?: { data?: unknown; rows?: unknown } };
  };
  expect(text).not.toContain('The tool has no argument');
  if (code === 401) expect(status).toBe(401);
  else if (code === 403) expect(error?.code).toBe(-32_602);
  else if (code === 200) {
    const { data, rows = data } = result?.structuredContent ?? {};
    expect(rows).toEqual([]);
  } else expect(result?.isError).toBe(true);
}
