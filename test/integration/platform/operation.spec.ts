import { maxHeaderSize } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Metrics } from '../../../src/platform/observability/index.js';
import { canary } from '../../support/canary.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { WEB_CLIENT } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const ORIGIN = 'https://app.example.com';

let plinth: Plinth;

beforeAll(async () => {
  plinth = await Plinth.start({ CORS_ORIGINS: ORIGIN });
});

afterAll(() => plinth.stop());

/** The log lines about requests of this path, once there are so many. */
async function requestLines(path: string, count = 1): Promise<Record<string, unknown>[]> {
  const lines = (): Record<string, unknown>[] =>
    plinth.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['msg'] === 'request' && line['path'] === path);
  return eventually(lines, (found) => found.length >= count);
}

async function metric(start: string): Promise<string | undefined> {
  const { text } = await plinth.anonymous().raw('GET', '/metrics');
  return text.split('\n').find((line) => line.startsWith(start));
}

describe('the log', () => {
  it('has one line for a request, with its envelope code, tenant and user', async () => {
    const session = await plinth.signIn();
    const answer = await session.raw('GET', '/system/permission/list?a=1', undefined, {
      'x-request-id': 'request-of-the-log-test',
    });
    const [line] = await requestLines('/system/permission/list');

    expect(answer.headers['x-request-id']).toBe('request-of-the-log-test');
    expect(line).toMatchObject({
      level: 'info',
      requestId: 'request-of-the-log-test',
      method: 'GET',
      route: '/system/permission/list',
      tenant: '000000',
      user: expect.any(Number),
      code: 200,
    });
    expect(line?.['bytes']).toBeGreaterThan(answer.text.length);
    expect(line).not.toHaveProperty('aborted');
  });

  it('never holds the password, the token or the query', async () => {
    const secret = canary.plant('login');
    await plinth.anonymous().post('/auth/login', {
      tenantId: '000000',
      username: 'admin',
      password: secret.slice(0, 30),
      clientId: WEB_CLIENT,
      grantType: 'password',
    });
    await plinth.anonymous().get(`/system/permission/list?Authorization=Bearer%20${secret}`);
    await requestLines('/auth/login');
    await requestLines('/system/permission/list');

    expect(plinth.log.join('')).not.toContain(secret.slice(0, 30));
  });

  it('says the envelope code of a refused request', async () => {
    await plinth.anonymous().get('/monitor/audit/list');
    const [line] = await requestLines('/monitor/audit/list');

    expect(line).toMatchObject({ code: 401, route: '/monitor/audit/list', level: 'info' });
  });

  it('puts what no route serves under one name', async () => {
    const answer = await plinth.anonymous().get('/nowhere/at/all');
    const [line] = await requestLines('/nowhere/at/all');

    expect(answer).toEqual({ code: 404, msg: 'There is no GET /nowhere/at/all.', data: null });
    expect(line).toMatchObject({ code: 404, route: 'unmatched' });
  });
});

describe('health', () => {
  it('says that the process lives, and what it depends on, without an address', async () => {
    const live = await plinth.anonymous().raw('GET', '/health/live');
    const ready = await plinth.anonymous().raw('GET', '/health/ready');
    const store = process.env['DATABASE_URL'] ? 'postgresql' : 'embedded';
    const queue = process.env['REDIS_URL']
      ? { status: 'up', kind: 'redis', latencyMs: expect.any(Number) }
      : { status: 'up', kind: 'in process' };

    expect([live.status, JSON.parse(live.text)]).toEqual([200, { status: 'up' }]);
    expect(ready.status).toBe(200);
    expect(JSON.parse(ready.text)).toEqual({
      status: 'up',
      checks: {
        store: { status: 'up', kind: store, latencyMs: expect.any(Number) },
        queue,
        vectorStore: {
          status: 'up',
          kind: expect.stringMatching(/^(pgvector|exact)$/),
          latencyMs: expect.any(Number),
        },
        files: { status: 'up', kind: 'local' },
      },
    });
  });

  it('leaves no line in the log at level info', async () => {
    await plinth.anonymous().raw('GET', '/health/live');
    const lines = await requestLines('/health/live');

    expect(lines.map((line) => line['level'])).toEqual(lines.map(() => 'debug'));
  });
});

describe('metrics', () => {
  it('counts requests by route pattern and envelope code', async () => {
    const start = 'plinth_http_requests_total{method="GET",route="/monitor/audit/list",code="401"}';
    const before = Number((await metric(start))?.split(' ')[1] ?? 0);
    await plinth.anonymous().get('/monitor/audit/list?pageNum=1');
    await plinth.anonymous().get('/monitor/audit/list?pageNum=2');
    await requestLines('/monitor/audit/list', before + 2);

    expect(await metric(start)).toBe(`${start} ${before + 2}`);
    expect(await metric('plinth_http_request_seconds_count{route="/monitor/audit/list"}')).toMatch(
      / [1-9]\d*$/,
    );
  });

  it('holds the state of the process and no label that strangers could grow', async () => {
    await plinth.anonymous().get('/made-up-path-of-a-stranger');
    await requestLines('/made-up-path-of-a-stranger');
    const answer = await plinth.anonymous().raw('GET', '/metrics');

    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.text).toMatch(/^plinth_open_streams 0$/m);
    expect(answer.text).toMatch(/^plinth_database_pool\{state="total"\} \d+$/m);
    expect(answer.text).toMatch(/^plinth_event_loop_lag_seconds\{value="p99"\} \d/m);
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'nodejs_heap_size_used_bytes',
    ]) {
      expect(answer.text).toMatch(new RegExp(`^${name} \\d`, 'm'));
    }
    expect(answer.text).toMatch(/^process_resident_memory_bytes [1-9]/m);
    expect(answer.text).not.toContain('stranger');
  });

  it('is answered without a value that cannot be read, which is asked for once at a time', async () => {
    const first = Promise.withResolvers<number>();
    let reads = 0;
    plinth.app.get(Metrics).gauge('plinth_slow_value', 'A value for a test', async () => {
      reads += 1;
      return reads === 1 ? first.promise : reads;
    });
    const value = (): Promise<string | undefined> => metric('plinth_slow_value ');
    expect(await Promise.all([value(), value()])).toEqual([undefined, undefined]);
    expect(reads).toBe(1);

    first.resolve(1);
    expect(await value()).toBe('plinth_slow_value 2');
  });
});

describe('calls of model services', () => {
  it('are counted and timed by provider code and outcome', async () => {
    const metrics = plinth.app.get(Metrics);
    metrics.upstreamCall({ provider: 'Ollama', kind: 'chat', outcome: 'ok', seconds: 2 });
    metrics.upstreamCall({
      provider: 'ollama',
      kind: 'chat',
      outcome: 'timeout-idle',
      seconds: 180,
    });
    metrics.firstToken('ollama', 0.3);

    const calls = 'plinth_upstream_calls_total{provider="ollama",kind="chat"';
    expect(await metric(`${calls},outcome="ok"`)).toMatch(/ 1$/);
    expect(await metric(`${calls},outcome="timeout-idle"`)).toMatch(/ 1$/);
    expect(await metric('plinth_upstream_seconds_sum{provider="ollama",kind="chat"}')).toMatch(
      / 182$/,
    );
    expect(await metric('plinth_first_token_seconds_count{provider="ollama"}')).toMatch(/ 1$/);
  });

  it('take no label from users beyond a form and a number', async () => {
    const metrics = plinth.app.get(Metrics);
    const call = { kind: 'embedding', outcome: 'ok', seconds: 1 } as const;
    metrics.upstreamCall({ ...call, provider: 'a "quoted" code' });
    for (let n = 0; n < 200; n += 1) metrics.upstreamCall({ ...call, provider: `made-up-${n}` });
    const { text } = await plinth.anonymous().raw('GET', '/metrics');

    const counted = text.match(/^plinth_upstream_calls_total\{provider="made-up-\d+"/gm) ?? [];
    expect(counted.length).toBeLessThanOrEqual(100);
    expect(text).not.toContain('quoted');
    expect(await metric('plinth_upstream_calls_total{provider="other",kind="embedding"')).toMatch(
      new RegExp(` ${201 - counted.length}$`),
    );
  });
});

describe('what a body can be', () => {
  const unreadable = { code: 400, msg: 'The request body is not readable JSON.', data: null };

  it.each([
    ['cut-off JSON', '{"username": ', unreadable],
    ['a bare word', 'hello', unreadable],
    ['null', 'null', unreadable],
    ['a number', '12', unreadable],
  ])('%s is refused and never shown back', async (_, body, expected) => {
    const { status, text } = await plinth.anonymous().raw('POST', '/auth/login', body);

    expect([status, JSON.parse(text)]).toEqual([200, expected]);
  });

  it.each([
    ['an empty body', ''],
    ['an array', '[]'],
    ['an array of logins', '[{"username":"admin"}]'],
    ['an empty object', '{}'],
    ['fields of the wrong kind', '{"username":{"$ne":1},"password":[],"__proto__":{"a":1}}'],
  ])('%s is bad input', async (_, body) => {
    const { status, text } = await plinth.anonymous().raw('POST', '/auth/login', body);

    expect([status, (JSON.parse(text) as { code: number }).code]).toEqual([200, 400]);
  });

  it('that is too large is refused by its size', async () => {
    const body = JSON.stringify({ username: 'a'.repeat(2 * 1_024 * 1_024) });
    const { text } = await plinth.anonymous().raw('POST', '/auth/login', body);

    expect(JSON.parse(text)).toEqual({
      code: 400,
      msg: 'The request body is too large. This route reads 64 KiB at most. Send less at once.',
      data: { errorCode: 'TOO_LARGE' },
    });
  });

  it('of a login may be declared as text', async () => {
    const login = {
      tenantId: '000000',
      username: 'admin',
      password: 'admin-test-password',
      clientId: WEB_CLIENT,
      grantType: 'password',
    };
    const { text } = await plinth.anonymous().raw('POST', '/auth/login', login, {
      'content-type': 'text/plain;charset=UTF-8',
    });

    expect(JSON.parse(text)).toMatchObject({ code: 200 });
  });

  it('in an unknown character set is bad input', async () => {
    const charset = await plinth.anonymous().raw('POST', '/auth/login', '{}', {
      'content-type': 'application/json; charset=klingon',
    });

    expect(JSON.parse(charset.text)).toEqual(unreadable);
  });

  it('is not the only input that can be bad: so can a path', async () => {
    const session = await plinth.signIn();

    expect(await session.get('/system/user/%E0%A4%A')).toMatchObject({ code: 400 });
    expect(await session.get('/system/user/1%00')).toMatchObject({ code: 400 });
    for (const id of ['abc', '0x1', '1e3', '%201', '99999999999999999999']) {
      expect(await session.get(`/system/user/${id}`)).toEqual({
        code: 400,
        msg: `"${decodeURIComponent(id)}" is not an id. An id is a whole number.`,
        data: null,
      });
    }
  });
});

describe('the description of the API', () => {
  it('is served with its pages, all from here', async () => {
    const page = await plinth.anonymous().raw('GET', '/docs');
    const script = await plinth.anonymous().raw('GET', '/docs/swagger-ui-bundle.js');

    expect(page.text).toContain('<title>Plinth API</title>');
    expect(page.text).not.toMatch(/(src|href)="https?:/);
    expect(page.text).not.toMatch(/<script(?![^>]*\ssrc=)/);
    expect(page.headers['content-security-policy']).toContain("script-src 'self';");
    expect(script.status).toBe(200);
    expect(script.text.length).toBeGreaterThan(100_000);
  });

  it('names both security schemes, every envelope code and the permission of a route', async () => {
    const { text } = await plinth.anonymous().raw('GET', '/docs/json');
    const document = JSON.parse(text) as { 'x-envelope-codes': object };

    expect(document).toMatchObject({
      info: { title: 'Plinth', version: '1.0.0' },
      components: {
        securitySchemes: {
          authorization: { type: 'http', scheme: 'bearer' },
          clientid: { type: 'apiKey', in: 'header', name: 'clientid' },
          apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'sk-plinth-…' },
        },
      },
      servers: [{ url: '/' }],
      paths: {
        '/system/permission/list': { get: { 'x-permission': 'system:role:list' } },
        '/health/live': {
          get: {
            'x-permission': 'none',
            responses: { 431: { $ref: '#/components/responses/HeadersTooLarge' } },
          },
        },
      },
    });
    expect(Object.keys(document['x-envelope-codes'])).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '405',
      '409',
      '429',
      '500',
      '503',
    ]);
  });
});

it('answers headers that are too large with 431, and documents the limit', async () => {
  const answer = await plinth
    .anonymous()
    .raw('GET', '/health/live', undefined, { 'x-large': 'x'.repeat(20_000) });
  expect(answer).toMatchObject({ status: 431, text: '' });
  const { text } = await plinth.anonymous().raw('GET', '/docs/json');
  const { components } = JSON.parse(text) as { components: { responses: object } };
  expect(components.responses).toMatchObject({
    HeadersTooLarge: { description: expect.stringContaining(`${maxHeaderSize} bytes`) },
  });
});

describe('a browser of another site', () => {
  it('may ask and read what clients need, where its origin is named', async () => {
    const origin = { origin: ORIGIN };
    const { headers } = await plinth.anonymous().raw('GET', '/system/user/list', undefined, origin);
    const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(',');
    const asked = { ...origin, 'access-control-request-method': 'POST' };
    const preflight = await plinth.anonymous().raw('OPTIONS', '/chat/send', undefined, asked);
    const other = { origin: 'https://other.example.com' };
    const stranger = await plinth.anonymous().raw('GET', '/system/user/list', undefined, other);

    expect(headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(exposed.sort()).toEqual([
      'anthropic-ratelimit-requests-limit',
      'anthropic-ratelimit-requests-remaining',
      'anthropic-ratelimit-requests-reset',
      'anthropic-ratelimit-tokens-limit',
      'anthropic-ratelimit-tokens-remaining',
      'anthropic-ratelimit-tokens-reset',
      'content-disposition',
      'request-id',
      'retry-after',
      'x-plinth-attempts',
      'x-plinth-ignored',
      'x-plinth-model',
      'x-ratelimit-limit-requests',
      'x-ratelimit-limit-tokens',
      'x-ratelimit-remaining-requests',
      'x-ratelimit-remaining-tokens',
      'x-ratelimit-reset-requests',
      'x-ratelimit-reset-tokens',
      'x-request-id',
      'x-should-retry',
      'x-trace-id',
    ]);
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': expect.stringContaining('POST'),
      },
    });
    expect(stranger.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('the greeting', () => {
  it('is plain text that says where the documentation is', async () => {
    const { status, text, headers } = await plinth.anonymous().raw('GET', '/');

    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(text).toBe(
      'Welcome to Plinth, the backend for AI applications. The API is documented at /docs.\n',
    );
  });
});

describe('the language of messages', () => {
  const CHINESE = { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.8' };

  let session: Session;

  beforeAll(async () => {
    session = await plinth.signIn();
  });

  const ask = async (
    method: string,
    path: string,
    { body, headers = CHINESE }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<{ msg: string; language: unknown; vary: string }> => {
    const { text, headers: answered } = await session.raw(method, path, body, headers);
    const { msg } = JSON.parse(text) as { msg: string };
    return { msg, language: answered['content-language'], vary: String(answered['vary']) };
  };

  it.each([
    { of: 'a success', path: '/system/permission/list', msg: '操作成功。' },
    { of: 'a page', path: '/system/user/list?pageNum=1&pageSize=1', msg: '操作成功。' },
    { of: 'a missing route', path: '/nowhere', msg: '不存在 GET /nowhere。' },
    { of: 'a missing record', path: '/system/user/987654321', msg: '未找到用户，可能已被删除。' },
    { of: 'an id', path: '/system/user/x', msg: '“x”不是 id。id 是整数。' },
    {
      of: 'a body that is not JSON',
      path: '/system/role',
      body: '{',
      msg: '请求体不是可读取的 JSON。',
    },
    {
      of: 'several fields',
      path: '/system/client',
      body: { grantTypeList: 1, status: 2 },
      msg: 'status 必须是以下之一：0, 1；clientKey 为必填项；clientSecret 为必填项',
    },
  ])('is Chinese for $of', async ({ path, body, msg }) => {
    const answer = await ask(body === undefined ? 'GET' : 'POST', path, { body });
    const vary = expect.stringContaining('Accept-Language');
    expect(answer).toEqual({ msg, language: 'zh-CN', vary });
  });

  it('is Chinese for a caller who is not signed in', async () => {
    const { text } = await plinth.anonymous().raw('GET', '/system/user/list', undefined, CHINESE);
    expect(JSON.parse(text)).toMatchObject({
      code: 401,
      msg: '您尚未登录，或登录已结束。请重新登录。',
    });
  });

  it.each([
    ['without the header', {}],
    ['when the client prefers English', { 'accept-language': 'en,zh;q=0.5' }],
    ['for any other language', { 'accept-language': 'de-DE,de;q=0.9' }],
  ])('is English %s', async (_, headers) => {
    const answer = await ask('GET', '/nowhere', { headers });
    expect(answer).toEqual({
      msg: 'There is no GET /nowhere.',
      language: undefined,
      vary: expect.stringContaining('Accept-Language'),
    });
  });
});
