import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { OutboundHttp } from './outbound-http.js';
import type { OutboundRequest } from './outbound-http.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let handler: Handler = (_request, response) => void response.end('ok');
const server = createServer((request, response) => handler(request, response));
let port = 0;
let http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });

const request = (overrides: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: 'GET',
  headers: {},
  signal: new AbortController().signal,
  timeouts: { connectMs: 20_000, idleMs: 20_000 },
  ...overrides,
});
const url = (path = '/'): string => `http://127.0.0.1:${port}${path}`;

async function nextOf(reader: AsyncIterator<Buffer>): Promise<Buffer> {
  const item = await reader.next();
  if (item.done === true) throw new Error('The body ended early');
  return item.value;
}

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  await http.close();
  http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
});

afterAll(async () => {
  await http.close();
  server.closeAllConnections();
  server.close();
});

describe('an ordinary call', () => {
  it('sends method, headers and body, and reuses the connection', async () => {
    const ports = new Set<number | undefined>();
    handler = (incoming, response) => {
      ports.add(incoming.socket.remotePort);
      incoming.pipe(response.writeHead(201, { 'x-seen': incoming.headers['x-test'] }));
    };
    for (let round = 0; round < 3; round++) {
      const response = await http.request(
        url(),
        request({ method: 'POST', headers: { 'x-test': 'yes' }, body: 'héllo' }),
      );
      expect([response.status, response.headers['x-seen']]).toEqual([201, 'yes']);
      expect(await response.text(100)).toBe('héllo');
      await delay(5);
    }
    expect(ports.size).toBe(1);
  });

  it('hands over the chunks of one read together', async () => {
    handler = (_incoming, response) => {
      response.socket?.cork();
      for (let chunk = 0; chunk < 50; chunk++) response.write(`${chunk};`);
      response.end();
      process.nextTick(() => response.socket?.uncork());
    };
    const response = await http.request(url(), request());
    const reads: string[] = [];
    for await (const bytes of response.body) reads.push(bytes.toString());
    expect(reads.join('').split(';')).toHaveLength(51);
    expect(reads.length).toBeLessThan(10);
  });

  it('stops at the limit of text()', async () => {
    handler = (_incoming, response) => void response.end('x'.repeat(2_000));
    const response = await http.request(url(), request());
    await expect(response.text(1_000)).rejects.toMatchObject({ kind: 'too-large' });
  });
});

describe('failures', () => {
  it('names a refused connection, an unknown name and a reset', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port: free } = closed.address() as AddressInfo;
    closed.close();
    let sent = 0;
    const onSend = (): void => void (sent += 1);
    await expect(
      http.request(`http://127.0.0.1:${free}/`, request({ onSend })),
    ).rejects.toMatchObject({
      kind: 'connect',
      retryable: true,
    });
    await http.close();
    http = new OutboundHttp({
      allowedPrivateHosts: ['127.0.0.0/8'],
      resolve: (hostname) =>
        hostname === 'reset.example'
          ? Promise.resolve([{ address: '127.0.0.1', family: 4 }])
          : Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    });
    await expect(
      http.request('http://nowhere.invalid/', request({ onSend })),
    ).rejects.toMatchObject({
      kind: 'dns',
      retryable: false,
    });
    expect(sent).toBe(0);
    handler = (incoming) => void incoming.socket.destroy();
    await expect(
      http.request(`http://reset.example:${port}/`, request({ onSend })),
    ).rejects.toMatchObject({
      kind: 'reset',
      retryable: true,
    });
    expect(sent).toBe(1);
  });

  it('ends a call that stays silent before or after the headers', async () => {
    handler = () => undefined;
    const timeouts = { connectMs: 20_000, idleMs: 1_500 };
    await expect(http.request(url(), request({ timeouts }))).rejects.toMatchObject({
      kind: 'timeout-idle',
      retryable: false,
    });
    handler = (_incoming, response) => void response.write('first');
    const response = await http.request(url(), request({ timeouts }));
    await expect(response.text(100)).rejects.toMatchObject({ kind: 'timeout-idle' });
  });

  it('ends a call that goes on for too long', async () => {
    handler = (_incoming, response) => {
      const timer = setInterval(() => response.write('.'), 10);
      response.on('close', () => clearInterval(timer));
    };
    const timeouts = { connectMs: 20_000, idleMs: 20_000, totalMs: 1_000 };
    const response = await http.request(url(), request({ timeouts }));
    await expect(response.text(100_000)).rejects.toMatchObject({ kind: 'timeout-total' });
  });

  it('ends a connection that is not made in time', async () => {
    await http.close();
    http = new OutboundHttp({
      allowedPrivateHosts: [],
      resolve: () => new Promise(() => undefined),
    });
    const timeouts = { connectMs: 100, idleMs: 1_000 };
    await expect(http.request('http://slow.example/', request({ timeouts }))).rejects.toMatchObject(
      { kind: 'timeout-connect' },
    );
  });
});

describe('abort', () => {
  it('destroys the socket, also in mid-stream', async () => {
    const closed = Promise.withResolvers<undefined>();
    handler = (_incoming, response) => {
      response.write('first');
      response.on('close', () => closed.resolve(undefined));
    };
    const controller = new AbortController();
    const response = await http.request(url(), request({ signal: controller.signal }));
    const reader = response.body[Symbol.asyncIterator]();
    expect(String(await nextOf(reader))).toBe('first');
    const pending = reader.next();
    controller.abort();
    await expect(pending).rejects.toMatchObject({ kind: 'aborted', retryable: false });
    await closed.promise;
  });

  it('answers at once while waiting for headers or for a connection', async () => {
    handler = () => undefined;
    const waiting = new AbortController();
    const call = http.request(url(), request({ signal: waiting.signal }));
    setTimeout(() => waiting.abort(), 20);
    await expect(call).rejects.toMatchObject({ kind: 'aborted' });
    await expect(http.request(url(), request({ signal: waiting.signal }))).rejects.toMatchObject({
      kind: 'aborted',
    });
  });

  it('destroys the socket when the reader leaves early', async () => {
    const closed = Promise.withResolvers<undefined>();
    handler = (_incoming, response) => {
      response.write('first');
      response.on('close', () => closed.resolve(undefined));
    };
    const response = await http.request(url(), request());
    for await (const _bytes of response.body) break;
    await closed.promise;
  });
});

describe('discard', () => {
  const ROUNDS = 6;

  it('keeps the connection of an answer that ends at once', async () => {
    const ports = new Set<number | undefined>();
    handler = (incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.write('data');
      setTimeout(() => response.end(), 10);
    };
    for (let round = 0; round < ROUNDS; round++) {
      const response = await http.request(url(), request());
      for await (const _bytes of response.body) {
        response.discard();
        break;
      }
      await delay(300);
    }
    // A machine that stalls may be too late once or twice.
    expect(ports.size).toBeLessThan(ROUNDS);
  });

  it('destroys the connection of one that goes on', async () => {
    const closed = Promise.withResolvers<undefined>();
    handler = (_incoming, response) => {
      response.write('data');
      response.on('close', () => closed.resolve(undefined));
    };
    const response = await http.request(url(), request());
    response.discard();
    await closed.promise;
  });
});

describe('back-pressure', () => {
  it('pauses the sender while nobody reads, and does not count that time as idle', async () => {
    let sent = 0;
    handler = (_incoming, response) => {
      const block = Buffer.alloc(64 * 1024, 'x');
      const write = (): void => {
        while (sent < 64 * 1024 * 1024) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    };
    const timeouts = { connectMs: 20_000, idleMs: 1_000, totalMs: 60_000 };
    const response = await http.request(url(), request({ timeouts }));
    const reader = response.body[Symbol.asyncIterator]();
    let received = (await nextOf(reader)).length;
    await delay(2_500);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    for (let item = await reader.next(); item.done !== true; item = await reader.next()) {
      received += item.value.length;
    }
    expect(received).toBe(64 * 1024 * 1024);
  });
});
