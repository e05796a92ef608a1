import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { BODY_LIMITS } from '../../../src/platform/http/body.js';
import { DirectRoutes } from '../../../src/platform/access/index.js';
import { closeCompatibleApi, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { routeTable } from '../../support/route-table.js';
import { eventually } from '../../support/wait.js';

const QUESTION = [{ role: 'user', content: 'What is new?' }];

/** A request that each direct route answers. */
const asked: Readonly<Record<string, object>> = {
  '/chat/send': { model: 'sim-chat', content: 'What is new?' },
  '/v1/chat/completions': { model: 'sim-chat', messages: QUESTION, stream: true },
  '/v1/messages': { model: 'sim-messages', messages: QUESTION, max_tokens: 50, stream: true },
  '/v1/responses': { model: 'sim-chat', input: 'What is new?', stream: true },
};
const paths = Object.keys(asked);

interface Sent {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let world: CompatibleApi;

overrideConstants(BODY_LIMITS, { usualBytes: 64 * 1_024 });

beforeAll(async () => {
  world = await openCompatibleApi();
});

afterAll(() => closeCompatibleApi(world));

/** What a client sees of an answer, without what differs from one call to the next. */
async function answerOf(path: string, { body, headers }: Sent): Promise<object> {
  const { plinth, admin } = world;
  const response = await fetch(plinth.url + path, {
    method: 'POST',
    headers: { ...admin.headers, 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  const {
    date: _,
    'x-request-id': id,
    'request-id': ___,
    'content-length': __,
    ...shown
  } = Object.fromEntries(response.headers);
  expect(id).toMatch(/^[\w-]{8,64}$/);
  return {
    status: response.status,
    headers: shown,
    body: text
      .replaceAll(/\b(?:[a-z]+_)?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b/g, 'id')
      .replaceAll(/\d+/g, '0')
      .replaceAll(`${path} `, 'path '),
  };
}

it('are the routes that answer a turn, and stand in the table of routes', () => {
  const { app } = world.plinth;
  const direct = app.get(DirectRoutes, { strict: false }).paths.toSorted();
  expect(direct).toEqual(paths.toSorted());
  const known = routeTable(app).map(({ key }) => key);
  expect(known).toEqual(expect.arrayContaining(direct.map((path) => `POST ${path}`)));
});

describe.each(paths)('%s', (path) => {
  const whole = JSON.stringify(asked[path]);

  // An address with a slash at its end is the same route, and the router answers it.
  it.each<[string, Sent]>([
    ['a stream', { body: whole }],
    ['an answer in one piece', { body: JSON.stringify({ ...asked[path], stream: false }) }],
    ['a request without a sign-in', { body: whole, headers: { authorization: '' } }],
    ['a wrong token', { body: whole, headers: { authorization: 'Bearer wrong' } }],
    [
      'a wrong key',
      { body: whole, headers: { authorization: `Bearer sk-plinth-${'0'.repeat(60)}` } },
    ],
    ['a body that is not JSON', { body: '{' }],
    ['a body of another type', { body: whole, headers: { 'content-type': 'text/plain' } }],
    ['a body without fields', { body: '{}' }],
    ['a list', { body: '[]' }],
    ['an unknown model', { body: JSON.stringify({ ...asked[path], model: 'unknown' }) }],
    ['a body that is nested too deeply', { body: '{"model":'.repeat(30) + '1' + '}'.repeat(30) }],
    ['a body that is too large', { body: JSON.stringify({ model: 'x'.repeat(15 * 2 ** 20) }) }],
    ['a client that wants Chinese', { body: '{}', headers: { 'accept-language': 'zh' } }],
  ])('answers %s as the router does', async (_, sent) => {
    const direct = await answerOf(path, sent);
    const routed = await answerOf(`${path}/`, sent);
    expect(direct).toEqual(routed);
  });

  it('is logged and counted by its pattern', async () => {
    const { plinth, admin } = world;
    const id = `direct-${path.replaceAll('/', '-')}`;
    await answerOf(path, { body: whole, headers: { 'x-request-id': id } });
    const line = await eventually(
      () => plinth.log.find((one) => one.includes(id) && one.includes('"msg":"request"')),
      (found) => found !== undefined,
    );
    expect(JSON.parse(line ?? '')).toMatchObject({ method: 'POST', route: path, path, code: 200 });
    const metrics = await fetch(`${plinth.url}/metrics`, { headers: admin.headers });
    expect(await metrics.text()).toContain(`route="${path}"`);
  });
});
