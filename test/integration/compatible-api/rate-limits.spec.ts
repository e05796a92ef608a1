import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const KEY = '9key-of-the-service';
const ASKED = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 };
const UPSTREAM = {
  'x-ratelimit-limit-requests': '500',
  'x-ratelimit-remaining-requests': '499',
  'x-ratelimit-reset-tokens': '6m0s',
};

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let program: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages']) await createProvider(admin, code);
  const service = { apiHost: `${simulator.url}/v1`, apiKey: KEY };
  await createModel(admin, { ...service, modelName: 'sim-free' });
  const limited = await createModel(admin, { ...service, modelName: 'sim-limited' });
  await createModel(admin, {
    ...service,
    modelName: 'sim-messages',
    providerCode: 'custom_messages',
  });
  await createModel(admin, {
    ...service,
    modelName: 'sim-embed-64',
    category: 'vector',
    modelDimension: 64,
  });
  await createModel(admin, { ...service, modelName: 'sim-image', category: 'image' });
  const permissions = ['chat:chat:use', 'media:media:use'];
  const key = await makeKey(admin, { permissions });
  program = withKey(admin, key);
  const limits = [
    { scope: 'user', measure: 'requests-minute', cap: 1_000 },
    { scope: 'key', measure: 'requests-minute', cap: 40 },
    { scope: 'tenant', measure: 'tokens-month', cap: 10_000_000 },
    { scope: 'model', modelId: limited, measure: 'tokens-day', cap: 1_000 },
  ];
  for (const limit of limits) done(await admin.post('/system/limit', limit));
});

beforeEach(async () => {
  simulator.reset();
  await sql('DELETE FROM usage_reservation');
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

function sql(text: string): Promise<unknown[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query(text));
}

async function headersOf(path: string, body: object): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(`${plinth.url}${path}`, {
    method: 'POST',
    headers: { ...program.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
  const limits = [...response.headers].filter(([name]) => name.includes('ratelimit'));
  return Object.fromEntries([...limits, ['status', String(response.status)]]);
}

describe('limits of Plinth', () => {
  it.each([
    ['relayed', { model: 'sim-free' }],
    ['streamed', { model: 'sim-free', stream: true }],
    ['translated', { model: 'sim-messages' }],
  ])(
    'are those that have the least left, in the headers of an answer that is %s',
    async (_, model) => {
      const first = await headersOf('/v1/chat/completions', { ...ASKED, ...model });
      // The first call counts until its minute ends, also where the second is made later.
      await sql(`UPDATE usage_reservation SET expire_time = now() + interval '1 hour'`);
      const second = await headersOf('/v1/chat/completions', { ...ASKED, ...model });

      expect(first).toMatchObject({
        'x-ratelimit-limit-requests': '40',
        'x-ratelimit-reset-requests': expect.stringMatching(/^(1m)?\d+s$/),
        'x-ratelimit-limit-tokens': '10000000',
        'x-ratelimit-reset-tokens': expect.stringMatching(/^(\d+h)?(\d+m)?\d+s$/),
      });
      const left = (headers: Readonly<Record<string, string>>, what: string): number =>
        Number(headers[`x-ratelimit-remaining-${what}`]);
      expect(left(first, 'requests')).toBeLessThan(40);
      expect(left(second, 'requests')).toBe(left(first, 'requests') - 1);
      expect(left(second, 'tokens')).toBeLessThan(10_000_000);
    },
  );

  it('of a model are named for that model', async () => {
    const headers = await headersOf('/v1/chat/completions', { ...ASKED, model: 'sim-limited' });

    expect(headers).toMatchObject({ status: '200', 'x-ratelimit-limit-tokens': '1000' });
    expect(Number(headers['x-ratelimit-remaining-tokens'])).toBeLessThan(1_000);
  });

  it('are named in the form of Anthropic, with the moment of their end', async () => {
    for (const stream of [false, true]) {
      const headers = await headersOf('/v1/messages', { ...ASKED, model: 'sim-messages', stream });

      expect(headers).toMatchObject({
        'anthropic-ratelimit-requests-limit': '40',
        'anthropic-ratelimit-requests-reset': expect.stringMatching(
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
        ),
        'anthropic-ratelimit-tokens-limit': '10000000',
      });
      expect(headers).not.toHaveProperty('x-ratelimit-limit-requests');
    }
  });

  it('are told by embeddings, media and refusals as well', async () => {
    const embedded = await headersOf('/v1/embeddings', { model: 'sim-embed-64', input: 'x' });
    const drawn = await headersOf('/v1/images/generations', { model: 'sim-image', prompt: 'x' });
    const refused = await headersOf('/v1/chat/completions', {
      ...ASKED,
      model: 'sim-limited',
      max_tokens: 5_000,
    });

    expect([embedded['status'], embedded['x-ratelimit-limit-requests']]).toEqual(['200', '40']);
    expect([drawn['status'], drawn['x-ratelimit-limit-requests']]).toEqual(['200', '40']);
    expect([refused['status'], refused['x-ratelimit-limit-tokens']]).toEqual(['429', '1000']);
  });
});

describe('limits of the service', () => {
  it.each([
    ['/v1/chat/completions', { model: 'sim-free' }, '/chat/completions'],
    ['/v1/chat/completions', { model: 'sim-free', stream: true }, '/chat/completions'],
    ['/v1/chat/completions', { model: 'sim-messages', stream: true }, '/messages'],
    ['/v1/messages', { model: 'sim-free' }, '/chat/completions'],
  ])('of %s with %j have a prefix of their own', async (path, model, called) => {
    simulator.script({ match: { path: called }, headers: UPSTREAM });
    const headers = await headersOf(path, { ...ASKED, ...model });

    expect(headers).toMatchObject({
      'x-upstream-ratelimit-limit-requests': '500',
      'x-upstream-ratelimit-remaining-requests': '499',
      'x-upstream-ratelimit-reset-tokens': '6m0s',
    });
  });

  it('are told of a failure, and never with a key or with anything but limits', async () => {
    const odd = {
      'anthropic-ratelimit-tokens-remaining': '17',
      'x-ratelimit-limit-tokens': KEY,
      'x-ratelimit-scope': 'account of somebody',
      'set-cookie': 'a=b',
    };
    simulator.script({ match: { path: '/chat/completions' }, status: 400, headers: odd });
    const headers = await headersOf('/v1/chat/completions', { ...ASKED, model: 'sim-free' });

    expect(headers['status']).toBe('400');
    expect(headers['x-upstream-anthropic-ratelimit-tokens-remaining']).toBe('17');
    expect(JSON.stringify(headers)).not.toContain(KEY);
    expect(headers).not.toHaveProperty('x-upstream-ratelimit-scope');
  });
});
