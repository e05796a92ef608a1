import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Shutdown } from '../../../src/platform/observability/index.js';
import { Plinth } from '../../support/plinth.js';
import { eventually } from '../../support/wait.js';

let plinth: Plinth;

afterEach(() => plinth.stop());

/** A login whose body has not arrived completely. */
async function halfSentLogin(): Promise<{
  socket: Socket;
  received: () => string;
  end: () => void;
}> {
  const body = '{"username":"admin"}';
  const { hostname, port } = new URL(plinth.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(
    `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n` +
      body.slice(0, 5),
  );
  return { socket, received: () => text, end: () => void socket.write(body.slice(5)) };
}

/** The server has seen as many requests as were sent. */
async function openRequests(count: number): Promise<void> {
  const server = plinth.app.getHttpServer();
  await eventually(
    () => new Promise<number>((resolve) => server.getConnections((_, open) => resolve(open))),
    (open) => open >= count,
  );
  // A connection is there before its request is read; an answer to a later one proves that it was.
  await plinth.anonymous().raw('GET', '/health/live');
}

async function secondsOf(work: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work;
  return (performance.now() - began) / 1_000;
}

describe('a stop', () => {
  it('refuses new requests, while probes are answered', async () => {
    plinth = await Plinth.start();
    plinth.app.get(Shutdown).onModuleDestroy();
    const refused = await plinth.anonymous().raw('POST', '/auth/login', '{}');
    const ready = await plinth.anonymous().raw('GET', '/health/ready');
    const live = await plinth.anonymous().raw('GET', '/health/live');

    expect([refused.status, refused.headers['connection']]).toEqual([503, 'close']);
    expect(JSON.parse(refused.text)).toEqual({
      code: 503,
      msg: 'Plinth is stopping. Try again in a moment.',
      data: null,
    });
    expect([ready.status, JSON.parse(ready.text)]).toMatchObject([503, { status: 'stopping' }]);
    expect(live.status).toBe(200);
  });

  it('waits for a request that was under way, and no longer than that', async () => {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: '20' });
    const login = await halfSentLogin();
    await openRequests(1);
    const closing = secondsOf(plinth.app.close());
    setTimeout(login.end, 300);
    await once(login.socket, 'close');
    const seconds = await closing;

    expect(login.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(login.received()).toContain('"code":400');
    expect(seconds).toBeGreaterThan(0.25);
    expect(seconds).toBeLessThan(15);
  });

  it('cuts a request that does not end within the grace', async () => {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: '1' });
    const login = await halfSentLogin();
    await openRequests(1);
    const [seconds] = await Promise.all([
      secondsOf(plinth.app.close()),
      once(login.socket, 'close'),
    ]);

    expect(login.received()).toBe('');
    expect(seconds).toBeGreaterThan(0.9);
    expect(seconds).toBeLessThan(15);
  });
});
