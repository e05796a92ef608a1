import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeKey, withKey } from '../../support/api-keys.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { Session as Client } from '../../support/session.js';

let plinth: Plinth;
let admin: Session;
let program: Session;

beforeAll(async () => {
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  program = withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] }));
});

afterAll(() => plinth.stop());

const OPENAI = { error: { type: 'invalid_request_error', code: null, param: null } };
const ANTHROPIC = { type: 'error', error: { type: 'not_found_error' } };

describe('an address without a route', () => {
  it.each([
    ['POST', '/chat/completions', OPENAI, 'Add /v1 to the base address: /v1/chat/completions.'],
    ['POST', '/responses', OPENAI, 'Add /v1 to the base address: /v1/responses.'],
    ['POST', '/embeddings', OPENAI, 'Add /v1 to the base address: /v1/embeddings.'],
    ['GET', '/models', OPENAI, 'Add /v1 to the base address: /v1/models.'],
    ['GET', '/models/gpt-4o', OPENAI, 'Add /v1 to the base address: /v1/models/gpt-4o.'],
    ['POST', '/images/generations', OPENAI, 'Add /v1 to the base address'],
    ['POST', '/openai/chat/completions', OPENAI, '/v1/chat/completions.'],
    ['POST', '/api/v1/chat/completions', OPENAI, '/v1/chat/completions.'],
    ['POST', '/api/chat', OPENAI, 'Add /v1 to the base address.'],
    ['POST', '/compatible-mode/v1/chat/completions', OPENAI, '/v1/chat/completions.'],
    ['POST', '/api/paas/v4/embeddings', OPENAI, '/v1/embeddings.'],
    ['POST', '/v2/rerank', OPENAI, '/v1/rerank.'],
    ['GET', '/api/tags', OPENAI, 'Add /v1 to the base address.'],
    ['POST', '/api/v1/messages', ANTHROPIC, '/v1/messages.'],
    ['POST', '/messages/count_tokens', ANTHROPIC, '/v1/messages/count_tokens.'],
    ['POST', '/openai/whatever', OPENAI, 'Add /v1 to the base address.'],
    ['POST', '/messages', ANTHROPIC, 'Add /v1 to the base address: /v1/messages.'],
    ['POST', '/anthropic/v1/messages', ANTHROPIC, '/v1/messages.'],
    ['POST', '/v1/v1/messages', ANTHROPIC, '/v1 twice'],
    ['POST', '/v1/v1/chat/completions', OPENAI, '/v1 twice'],
    ['GET', '/v1/v1/models', OPENAI, '/v1 twice'],
    ['POST', '/v1/nothing', OPENAI, 'There is no POST /v1/nothing.'],
  ] as const)('%s %s is a 404 of the protocol', async (method, path, form, advice) => {
    for (const session of [program, new Client(plinth.url, {})]) {
      const answer = await session.raw(method, path, method === 'GET' ? undefined : {});
      const body = JSON.parse(answer.text) as { error: { message: string } };
      expect([answer.status, body]).toMatchObject([404, form]);
      expect(body.error.message).toContain(`There is no ${method} ${path}.`);
      expect(body.error.message).toContain(advice);
    }
  });

  it('outside of the protocols is answered in the envelope', async () => {
    const { status, text } = await program.raw('POST', '/chat/nothing', {});
    expect([status, JSON.parse(text)]).toMatchObject([200, { code: 404 }]);
  });
});

describe('a method that an address does not take', () => {
  it.each([
    ['GET', '/v1/chat/completions', 'POST', 'invalid_request_error'],
    ['DELETE', '/v1/models', 'GET, HEAD', 'invalid_request_error'],
    ['PUT', '/v1/embeddings', 'POST', 'invalid_request_error'],
    ['GET', '/v1/messages', 'POST', 'invalid_request_error'],
    ['GET', '/v1/messages/count_tokens', 'POST', 'invalid_request_error'],
  ] as const)('%s %s is a 405 with those that it takes', async (method, path, allow, type) => {
    const { status, headers, text } = await program.raw(method, path);
    expect([status, headers['allow'], JSON.parse(text)]).toMatchObject([
      405,
      allow,
      { error: { type, message: `${path} does not take ${method}. Use ${allow}.` } },
    ]);
  });
});

describe('a program that prefers HTTP statuses', () => {
  it.each([
    ['GET', '/system/model/999999999', undefined, 404],
    ['GET', '/nowhere', undefined, 404],
    ['POST', '/chat/feedback/export', {}, 403],
    ['PUT', '/chat/feedback/1', { vote: 'sideways' }, 400],
  ] as const)('gets that of %s %s', async (method, path, body, code) => {
    const key = await makeKey(admin, { permissions: ['chat:chat:use', 'system:model:query'] });
    const { headers } = withKey(admin, key);
    const ask = async (more: Record<string, string>): Promise<unknown[]> => {
      const answer = await new Client(plinth.url, { ...headers, ...more }).raw(method, path, body);
      const { code: said } = JSON.parse(answer.text) as { code: number };
      return [answer.status, said, answer.headers['preference-applied']];
    };
    expect(await ask({ prefer: 'respond-async, HTTP-Status; foo="bar"' })).toEqual([
      code,
      code,
      'http-status',
    ]);
    expect(await ask({ prefer: 'http-statuses' })).toEqual([200, code, undefined]);
    expect(await ask({})).toEqual([200, code, undefined]);
  });

  it('gets 401 for a key that is not valid', async () => {
    const client = new Client(plinth.url, {
      authorization: 'Bearer sk-plinth-none',
      prefer: 'http-status',
    });
    const { status, text } = await client.raw('GET', '/system/model/list');
    expect([status, JSON.parse(text)]).toMatchObject([401, { code: 401 }]);
  });
});
