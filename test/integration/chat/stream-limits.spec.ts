import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { OpenStreams } from '../../../src/platform/access/index.js';
import { sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const PER_USER = 20;
const IN_ALL = 30;
const REQUESTS = 200;

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let other: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({
    CHAT_STREAMS_PER_USER: String(PER_USER),
    CHAT_STREAMS: String(IN_ALL),
  });
  admin = await plinth.signIn();
  other = (await makeUser(plinth, admin, 'other')).session;
  await createProvider(admin, 'custom_api');
  await createModel(admin, { modelName: 'plain', apiHost: `${simulator.url}/v1`, apiKey: 'key' });
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());

/** Sends so many messages at once; they are answered when `release` is called. */
function sendAll(by: Session, count: number): { replies: ChatReply[]; all: Promise<unknown> } {
  const replies: ChatReply[] = [];
  const sent = Array.from({ length: count }, async () => {
    replies.push(await sendChat(by, { model: 'plain', content: 'x' }));
  });
  return { replies, all: Promise.all(sent) };
}

function held(count: number): void {
  simulator.script(...Array.from({ length: count }, () => ({ hold: true, text: 'Answered.' })));
}

function openStreams(): number {
  return plinth.app.get(OpenStreams).size;
}

describe('messages that one user sends at once', () => {
  it('open no more upstream calls than the limit', async () => {
    held(REQUESTS);
    const { replies, all } = sendAll(admin, REQUESTS);
    // Whatever is over now was refused: the others are held.
    await eventually(
      () => replies.length,
      (count) => count >= REQUESTS - PER_USER,
      60_000,
    );
    await eventually(
      () => simulator.held,
      (count) => count >= PER_USER,
      60_000,
    );
    expect(replies).toHaveLength(REQUESTS - PER_USER);
    expect(simulator.requests).toHaveLength(PER_USER);
    const refusal = `${PER_USER} answers are being written or files checked for you`;
    expect(replies.every(({ error }) => error?.startsWith(refusal))).toBe(true);
    expect(replies[0]?.error).toContain('raise the limit with CHAT_STREAMS_PER_USER');
    expect(replies[0]?.failure).toEqual({ code: 429, data: null });
    // The check of a file takes a place, too: it may have to parse one.
    expect(await admin.post('/chat/files/1/check')).toMatchObject({ code: 429 });
    simulator.release();
    await all;
    expect(await admin.post('/chat/files/1/check')).toMatchObject({ code: 404 });
    expect(replies.filter(({ text }) => text === 'Answered.')).toHaveLength(PER_USER);
    expect(simulator.requests).toHaveLength(PER_USER);
  }, 180_000);

  it('leave their places when they are over, also when they failed', async () => {
    const refused = await Promise.all(
      Array.from({ length: PER_USER }, () =>
        sendChat(admin, { model: 'no-such-model', content: 'x' }),
      ),
    );
    expect(refused.every(({ error }) => error !== undefined)).toBe(true);
    await eventually(openStreams, (count) => count === 0, 30_000);
    simulator.script({ text: 'Answered.' });
    expect((await sendChat(admin, { model: 'plain', content: 'x' })).text).toBe('Answered.');
  });
});

describe('messages with one Idempotency-Key that arrive at once', () => {
  it.each(['without a session', 'in a session'])(
    '%s are answered once',
    async (where) => {
      const title = { sessionTitle: 'Test' };
      const sessionId =
        where === 'in a session'
          ? (await admin.post<string>('/system/session', title)).data
          : undefined;
      const headers = { 'idempotency-key': `once ${where}` };
      const body = { model: 'plain', content: 'pay', sessionId };
      held(PER_USER);
      const replies: ChatReply[] = [];
      const all = Promise.all(
        Array.from({ length: PER_USER }, async () => {
          replies.push(await sendChat(admin, body, headers));
        }),
      );
      // The one that is answered is held.
      await eventually(
        () => replies.length,
        (count) => count >= PER_USER - 1,
        60_000,
      );
      await eventually(
        () => simulator.held,
        (count) => count >= 1,
        60_000,
      );
      expect(replies.map(({ error }) => error)).toEqual(
        Array.from({ length: PER_USER - 1 }, () =>
          expect.stringMatching(/is still being answered/),
        ),
      );
      const data = { errorCode: 'IDEMPOTENCY_IN_PROGRESS' };
      expect(replies[0]?.failure).toEqual({ code: 409, data });
      simulator.release();
      await all;
      expect(replies.at(-1)?.text).toBe('Answered.');
      expect((await sendChat(admin, body, headers)).text).toBe('Answered.');
      expect(simulator.requests).toHaveLength(1);
      await eventually(openStreams, (count) => count === 0, 30_000);
    },
    180_000,
  );
});

describe('messages of several users', () => {
  it('open no more upstream calls than the process may have', async () => {
    held(REQUESTS);
    const first = sendAll(admin, REQUESTS / 2);
    const second = sendAll(other, REQUESTS / 2);
    await eventually(
      () => first.replies.length + second.replies.length,
      (count) => count >= REQUESTS - IN_ALL,
      60_000,
    );
    await eventually(
      () => simulator.held,
      (count) => count >= IN_ALL,
      60_000,
    );
    expect(simulator.requests).toHaveLength(IN_ALL);
    simulator.release();
    await Promise.all([first.all, second.all]);
    await eventually(openStreams, (count) => count === 0, 30_000);
  }, 180_000);
});
