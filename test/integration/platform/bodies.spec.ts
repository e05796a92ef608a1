import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { BODY_LIMITS } from '../../../src/platform/http/body.js';
import { BodyBudget } from '../../../src/platform/http/index.js';
import { Plinth } from '../../support/plinth.js';
import { routeTable } from '../../support/route-table.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const MIB = 2 ** 20;
const RUNS = '/coding/harness/sessions/00000000-0000-4000-8000-000000000000/runs';

const open = new Set<Socket>();

afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});

/** Sends the head of a request, and as much of its body as the test says. */
async function begin(
  { url }: Plinth,
  method: string,
  path: string,
  headers: Record<string, string | number>,
): Promise<{ socket: Socket; answer: () => string; closed: Promise<unknown> }> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  open.add(socket);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  const lines = Object.entries({ host: 'plinth', 'content-type': 'application/json', ...headers });
  socket.write(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`,
  );
  return { socket, answer: () => text, closed };
}

const answered = (text: () => string): Promise<string> =>
  eventually(text, (one) => one.includes('\r\n\r\n') && one.trimEnd().endsWith('}'));

describe('request bodies', () => {
  let plinth: Plinth;
  let root: Session;

  overrideConstants(BODY_LIMITS, { idleMs: 1_000 });

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  it.each([
    [
      '/system/user/list',
      '"code":400,"msg":"The request has more than one Host header. Send one."',
    ],
    ['/v1/models', '"error":{"message":"The request has more than one Host header. Send one."'],
  ])('are not looked at in a request with two Host headers: %s', async (path, shown) => {
    const { answer, closed } = await begin(plinth, 'GET', path, { Host: 'elsewhere' });
    await closed;
    expect(answer()).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer()).toContain(shown);
  });

  it('are not waited for before the caller is known: each route answers without them', async () => {
    const routes = routeTable(plinth.app).filter(
      ({ method, rule }) => method !== 'GET' && rule?.kind !== 'public',
    );
    expect(routes.length).toBeGreaterThan(80);
    for (const { method, path } of routes) {
      const { answer, socket } = await begin(plinth, method, path.replaceAll(/:\w+/g, '1'), {
        authorization: 'Bearer nonsense',
        clientid: 'nobody',
        'content-length': 14 * MIB,
      });
      const refusal = /^\/(?:v1\/|scim\/|mcp(?:\/gateway)?$)/.test(path)
        ? 'HTTP/1.1 401 '
        : '"code":401';
      expect([method, path, await answered(answer)]).toEqual([
        method,
        path,
        expect.stringContaining(refusal),
      ]);
      socket.destroy();
    }
  });

  it('are small where the caller is not signed in', async () => {
    const { answer } = await begin(plinth, 'POST', '/auth/login', { 'content-length': 65 * 1_024 });
    expect(await answered(answer)).toContain('This route reads 64 KiB at most.');
  });

  it('that are half sent are refused, and their connection is closed', async () => {
    const { socket, answer, closed } = await begin(plinth, 'POST', '/system/role', {
      ...root.headers,
      'content-length': 1_000,
    });
    socket.write('{"roleName": "half');
    await closed;
    expect(answer()).toContain('1 seconds without data. Send the request again.');
    expect(answer()).toMatch(/^connection: close\r$/im);
  });

  it('that are half sent are not kept when the request was refused', async () => {
    const { socket, answer, closed } = await begin(plinth, 'POST', RUNS, {
      'content-length': 1_000,
    });
    socket.write('{"requirement": "half');
    await closed;
    expect(answer()).toContain('"code":401');
  });

  it('that are large may not be large by the number of their values', async () => {
    const text = `{"requirement": [${'[],'.repeat(MIB)}[]]}`;
    expect(JSON.parse((await root.raw('POST', RUNS, text)).text)).toEqual({
      code: 400,
      msg: 'The request body holds too many values. Send less at once.',
      data: { errorCode: 'INVALID_INPUT' },
    });
  });

  it('may be compressed, and are limited by their unpacked size', async () => {
    const send = async (body: object): Promise<unknown> => {
      const response = await fetch(`${plinth.url}/system/role`, {
        method: 'POST',
        headers: {
          ...root.headers,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
        body: gzipSync(JSON.stringify(body)),
      });
      return response.json();
    };
    const role = { roleName: 'packed', roleKey: 'packed' };
    expect(await send(role)).toMatchObject({ code: 200 });
    expect(await send({ ...role, remark: 'x'.repeat(2 * MIB) })).toMatchObject({
      code: 400,
      data: { errorCode: 'TOO_LARGE' },
    });
  });
});

describe('the limits of bodies in flight', () => {
  let plinth: Plinth;
  let root: Session;

  overrideConstants(BODY_LIMITS, { idleMs: 600_000 });

  beforeAll(async () => {
    plinth = await Plinth.start({ TRUST_PROXY: '1' });
    root = await plinth.signIn();
  });
  afterAll(() => plinth.stop());

  it('hold for one address and for the process, until the requests end', async () => {
    const budget = plinth.app.get(BodyBudget);
    const part = Buffer.alloc(13 * MIB, 'x');
    const send = async (from: string): Promise<Socket> => {
      const before = budget.used;
      const { socket } = await begin(plinth, 'POST', RUNS, {
        ...root.headers,
        'x-forwarded-for': from,
        'content-length': 13 * MIB + 10,
      });
      socket.write('{"text": "');
      socket.write(part.subarray(20));
      await eventually(
        () => budget.used - before,
        (size) => size >= 13 * MIB - 20,
      );
      return socket;
    };
    const ask = async (from: string): Promise<{ text: string; headers: object }> =>
      root.raw('POST', RUNS, { requirement: 'x'.repeat(13 * MIB) }, { 'x-forwarded-for': from });
    const refused = {
      code: 429,
      msg: 'Too many large requests at the same time. Try again in 1 second.',
    };

    const sockets = [await send('192.0.2.1'), await send('192.0.2.1')];
    const own = await ask('192.0.2.1');
    expect(JSON.parse(own.text)).toMatchObject(refused);
    expect(own.headers).toMatchObject({ 'retry-after': '1' });
    expect(JSON.parse((await ask('192.0.2.2')).text)).not.toMatchObject({ code: 429 });

    sockets.push(await send('192.0.2.3'), await send('192.0.2.4'));
    expect(JSON.parse((await ask('192.0.2.5')).text)).toMatchObject(refused);
    expect(await root.get('/system/role/list')).toMatchObject({ code: 200 });

    for (const socket of sockets) socket.destroy();
    await eventually(
      () => budget.used,
      (size) => size === 0,
    );
    expect(JSON.parse((await ask('192.0.2.5')).text)).not.toMatchObject({ code: 429 });
  });

  it('hold the texts of forms as well', async () => {
    const budget = plinth.app.get(BodyBudget);
    const { socket } = await begin(plinth, 'POST', '/v1/images/edits', {
      ...root.headers,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': 100 * MIB,
      'x-forwarded-for': '192.0.2.1',
    });
    for (let at = 0; at < 90; at += 1) {
      const head = `--b\r\ncontent-disposition: form-data; name="a${at}"\r\n\r\n`;
      socket.write(`${head}${'x'.repeat(MIB / 5)}\r\n`);
    }
    await eventually(
      () => budget.used,
      (size) => size >= 90 * Math.floor(MIB / 5),
    );
    for (const socket of open) socket.destroy();
    await eventually(
      () => budget.used,
      (size) => size === 0,
    );
  });
});
