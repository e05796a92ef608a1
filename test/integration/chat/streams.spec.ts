import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

/** Without it, memory says when V8 last collected and nothing about leaks. */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Lone surrogates have no UTF-8 form, so no provider can send them. */
const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });

describe('chat streams', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({ CHAT_STREAMS_PER_USER: '5000' });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    for (const modelName of ['plain', 'sim--chunks-1000--delay-250', 'sim--chunks-400000']) {
      await createModel(admin, { modelName, apiHost, apiKey: 'key' });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  it('stores exactly what it streamed, for any text in any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.boolean(), fc.boolean(), async (text, byteSplit, crlf) => {
        simulator.script({ text, byteSplit, crlf });
        const session = await admin.post<string>('/system/session', {});
        const reply = await sendChat(admin, {
          model: 'plain',
          content: 'x',
          sessionId: session.data,
        });
        const stored = await admin.get<{ content: string }[]>(
          `/system/message/list?sessionId=${session.data}`,
        );
        expect(reply.text).toBe(text);
        expect(stored.rows[1]?.content).toBe(text);
      }),
      { numRuns: 40 },
    );
  });

  it('leaves nothing behind when 1,000 clients leave in mid-stream', async () => {
    await leaveInMidStream(100);
    const before = resources();
    await leaveInMidStream(900);
    // Ten times as many streams may not leave ten times as many timers or sockets, once those that close are closed.
    const after = await eventually(
      resources,
      ({ timers, sockets }) => timers <= before.timers + 2 && sockets <= before.sockets + 60,
    );
    expect(after.heapMb - before.heapMb).toBeLessThan(25);
  }, 180_000);

  it('stops the provider while a client reads nothing', async () => {
    const reader = await readNothing(admin, 'sim--chunks-400000');
    await eventually(
      () => simulator.requests.length,
      (count) => count === 1,
      30_000,
    );
    const held = await settled(() => simulator.requests[0]?.bytesSent ?? 0);
    // What the sockets of both connections hold, which Linux lets grow on a busy machine, and not the 60 MB that the
    // answer has.
    expect(held).toBeLessThan(40 * 2 ** 20);
    expect(simulator.requests[0]?.ended).toBe('open');
    reader.destroy();
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
      30_000,
    );
  });

  async function leaveInMidStream(clients: number): Promise<void> {
    for (let left = clients; left > 0; left -= 50) {
      const chats = await Promise.all(
        Array.from({ length: Math.min(50, left) }, () =>
          OpenChat.send(admin, { model: 'sim--chunks-1000--delay-250', content: 'x' }),
        ),
      );
      await Promise.all(chats.map((chat) => chat.until('tok1')));
      for (const chat of chats) chat.leave();
    }
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
      30_000,
    );
    const metrics = await eventually(
      async () => (await admin.raw('GET', '/metrics')).text,
      (text) => /^plinth_open_streams(\{\})? 0$/m.test(text),
      10_000,
    );
    expect(metrics).toMatch(/plinth_open_streams/);
  }

  function resources(): { timers: number; sockets: number; heapMb: number } {
    collectGarbage();
    const active = process.getActiveResourcesInfo();
    return {
      timers: active.filter((name) => name === 'Timeout').length,
      sockets: active.filter((name) => name === 'TCPSocketWrap').length,
      heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    };
  }
});

/** Sends a message over a bare socket and never reads the answer. */
async function readNothing(session: Session, model: string): Promise<Socket> {
  const { hostname, port } = new URL(session.url);
  const socket = connect({ host: hostname, port: Number(port) });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.pause();
  const body = JSON.stringify({ model, content: 'x' });
  const headers = Object.entries(session.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `POST /chat/send HTTP/1.1\r\nhost: ${hostname}\r\n${headers.join('')}content-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}

/** The value once it has not moved for three seconds. */
async function settled(read: () => number): Promise<number> {
  let last = -1;
  let since = Date.now();
  for (;;) {
    const now = read();
    if (now !== last) {
      last = now;
      since = Date.now();
    }
    if (Date.now() - since > 3_000 && now > 0) return now;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
