import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Shutdown } from '../../../src/platform/observability/index.js';
import { OpenChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

/** Longer than any test: what waits for it must be ended by something else. */
const NEVER = '3600';

const BODY = '{"username":"admin"}';
const ORIGIN = 'https://app.example.com';
const HEAD = `POST /auth/login HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`;

let plinth: Plinth;

afterEach(() => plinth.stop());

/** A login of which the first characters have arrived. */
async function halfSentLogin(characters: number): Promise<{
  socket: Socket;
  received: () => string;
  end: () => void;
}> {
  const { hostname, port } = new URL(plinth.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const whole = HEAD + BODY;
  socket.write(whole.slice(0, characters));
  return { socket, received: () => text, end: () => void socket.write(whole.slice(characters)) };
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

/** Resolves when the process refuses connections: the drain is over. */
async function listenerClosed(): Promise<void> {
  const isListening = (): boolean => plinth.app.getHttpServer().listening;
  await eventually(isListening, (listening) => !listening);
}

describe('a stop', () => {
  it('serves requests during the drain, while readiness says that it stops', async () => {
    plinth = await Plinth.start({ SHUTDOWN_DRAIN_SECONDS: '600' });
    const before = await plinth.anonymous().raw('GET', '/health/ready');
    const closing = plinth.app.close();
    const ready = await plinth.anonymous().raw('GET', '/health/ready');
    const live = await plinth.anonymous().raw('GET', '/health/live');
    const login = await plinth.anonymous().raw('POST', '/auth/login', '{}');
    const stream = await request(`${plinth.url}/resource/sse`, {
      headers: (await plinth.signIn()).headers,
    });
    plinth.app.get(Shutdown).hurry();
    await stream.body.dump();
    await closing;

    expect([before.status, before.headers['connection']]).toEqual([200, 'keep-alive']);
    expect([ready.status, JSON.parse(ready.text)]).toMatchObject([503, { status: 'stopping' }]);
    expect(live.status).toBe(200);
    expect(JSON.parse(login.text)).toMatchObject({ code: 400 });
    // The next request of a connection would find it closed.
    expect(login.headers['connection']).toBe('close');
    expect(stream.headers['connection']).toBe('close');
  });

  it('refuses what arrives on an open connection after the drain', async () => {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: '20', CORS_ORIGINS: ORIGIN });
    const [running, late] = [await halfSentLogin(HEAD.length + 5), await halfSentLogin(30)];
    await openRequests(2);
    const closing = plinth.app.close();
    await listenerClosed();
    late.end();
    await once(late.socket, 'close');
    running.end();
    await closing;

    expect(late.received()).toMatch(/^HTTP\/1\.1 503 /);
    expect(late.received()).toMatch(/\r\nConnection: close\r\n/);
    // A browser of another site reads it as well.
    expect(late.received()).toContain(`\r\nAccess-Control-Allow-Origin: ${ORIGIN}\r\n`);
    expect(late.received()).toContain(
      '{"code":503,"msg":"Plinth is stopping. Try again in a moment.","data":null}',
    );
  });

  it('waits for a request that was under way, and no longer than that', async () => {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: NEVER });
    const login = await halfSentLogin(HEAD.length + 5);
    await openRequests(1);
    const closing = plinth.app.close();
    await listenerClosed();
    login.end();
    await once(login.socket, 'close');
    await closing;

    expect(login.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(login.received()).toContain('"code":400');
  });

  it('cuts a request that does not end within the grace', async () => {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: '1' });
    const login = await halfSentLogin(HEAD.length + 5);
    await openRequests(1);
    const began = performance.now();
    await Promise.all([plinth.app.close(), once(login.socket, 'close')]);

    expect(login.received()).toBe('');
    expect(performance.now() - began).toBeGreaterThan(900);
  });
});

describe('a stop with open streams', () => {
  let simulator: Simulator;
  let admin: Session;

  beforeAll(async () => {
    simulator = await startSimulator();
  });

  beforeEach(() => simulator.reset());

  afterAll(() => simulator.close());

  /** An answer that goes on until the test ends it, and the notice channel, both open. */
  async function openStreams(model: string, graceSeconds: string) {
    plinth = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: graceSeconds });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    await createModel(admin, { modelName: model, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
    const notices = await request(`${plinth.url}/resource/sse`, { headers: admin.headers });
    const chat = await OpenChat.send(admin, { model, content: 'x' });
    return { notices, chat };
  }

  it('ends the notice channel at once and lets an answer run to its end', async () => {
    const { notices, chat } = await openStreams('sim--hold--chunks-3', NEVER);
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    const closing = plinth.app.close();
    await notices.body.dump();
    // The model has said nothing yet.
    simulator.release();
    const reply = await chat.rest();
    await closing;

    expect(reply.error).toBeUndefined();
    expect(reply.text).toContain('tok2');
    expect(reply.done).toBe(true);
  });

  it('stops an answer that does not end within the grace', async () => {
    const { chat } = await openStreams('sim--chunks-5--stall-4', '1');
    await chat.until('tok3');
    const closing = plinth.app.close();
    const reply = await chat.rest();
    await closing;

    expect(reply.error).toMatch(/restarting/);
    expect(reply.done).toBe(false);
  });

  it('ends answers at once when it is in a hurry', async () => {
    const { chat } = await openStreams('sim--chunks-5--stall-4', NEVER);
    await chat.until('tok3');
    plinth.app.get(Shutdown).hurry();
    const closing = plinth.app.close();
    const reply = await chat.rest();
    await closing;

    expect(reply.error).toMatch(/restarting/);
  });
});
