import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import {
  addressOf,
  adminAt,
  boot,
  isBuilt,
  killAll,
  START_MS,
} from '../../support/built-process.js';
import { OpenChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { ownStore } from '../../support/own-store.js';
import type { OwnStore } from '../../support/own-store.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { ADMIN_PASSWORD } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const onServer = process.env['DATABASE_URL'] !== undefined;

/** Answers as soon as the test lets it. */
const HELD = 'sim--hold--chunks-3';
const SLOW = 'sim--chunks-5000--delay-50';

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
}

let simulator: Simulator;
let store: OwnStore;
let relay: TcpRelay;
let environment: Record<string, string>;

/** A store of its own behind a relay that a test can cut. */
async function openStore(): Promise<void> {
  store = await ownStore();
  relay = new TcpRelay(new URL(store.databaseUrl ?? ''));
  environment = { ...store.environment, DATABASE_URL: await relay.open() };
}

async function prepare(admin: Session): Promise<void> {
  await createProvider(admin, 'custom_api');
  for (const modelName of [HELD, SLOW]) {
    await createModel(admin, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
  }
}

/** An answer that the model has not begun. */
async function ask(admin: Session): Promise<{ chat: OpenChat; sessionId: string }> {
  const sessionId = (await admin.post<string>('/system/session', {})).data;
  const chat = await OpenChat.send(admin, { model: HELD, content: 'x', sessionId });
  await eventually(
    () => simulator.held,
    (held) => held === 1,
  );
  return { chat, sessionId };
}

async function messagesOf(admin: Session, sessionId: string): Promise<Message[]> {
  return (await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`)).rows;
}

/** The session has the question and the complete answer, and nothing else. */
async function stored(admin: Session, sessionId: string): Promise<Message[]> {
  return eventually(
    // While the database is away, lists fail.
    () => messagesOf(admin, sessionId).catch(() => []),
    (rows) => rows?.[1]?.state === 'complete',
  );
}

/** Counts the attempts to store an answer that fail from now on. */
function failuresToStore(turns: TurnRepository): () => number {
  let failures = 0;
  const finish = turns.finish.bind(turns);
  turns.finish = async (...answer) => {
    try {
      await finish(...answer);
    } catch (error) {
      failures += 1;
      throw error;
    }
  };
  return () => failures;
}

function keptIn(dataDir: string): string[] {
  const folder = join(dataDir, 'answers');
  return existsSync(folder) ? readdirSync(folder) : [];
}

beforeAll(async () => {
  simulator = await startSimulator();
});

beforeEach(() => simulator.reset());

afterAll(() => simulator.close());

(onServer ? describe : describe.skip)('an answer that ends while the database is away', () => {
  let plinth: Plinth;
  let admin: Session;

  beforeEach(async () => {
    await openStore();
    plinth = await Plinth.start(environment);
    admin = await plinth.signIn();
    await prepare(admin);
  });

  afterEach(async () => {
    await plinth.stop();
    await relay.cut();
    await store.drop();
  });

  it('is stored when the database is back', async () => {
    const { chat, sessionId } = await ask(admin);
    const failures = failuresToStore(plinth.app.get(TurnRepository));
    await relay.cut();
    simulator.release();
    await eventually(failures, (count) => count > 0);
    await relay.open();
    const reply = await chat.rest();
    const [, answer] = await stored(admin, sessionId);

    expect([reply.error, reply.done]).toEqual([undefined, true]);
    expect(reply.text).toContain('tok2');
    expect(answer).toMatchObject({ content: reply.text, state: 'complete' });
  });

  it('is kept as a file when that takes longer, which `done` says', async () => {
    const { chat, sessionId } = await ask(admin);
    await relay.cut();
    simulator.release();
    const reply = await chat.rest();
    const files = keptIn(plinth.dataDir);
    const [name = ''] = files;
    const mode = statSync(join(plinth.dataDir, 'answers', name)).mode & 0o777;
    const metrics = await plinth.anonymous().raw('GET', '/metrics');
    await relay.open();
    const [, answer] = await stored(admin, sessionId);

    expect([reply.error, reply.done]).toEqual([undefined, true]);
    expect(reply.frames.at(-1)?.data).toMatchObject({ done: true, stored: false });
    expect(files).toEqual([expect.stringMatching(/^[\da-f-]{36}\.json$/)]);
    expect(mode).toBe(0o600);
    expect(metrics.text).toMatch(/^plinth_answers_kept 1$/m);
    expect(answer).toMatchObject({ content: reply.text, state: 'complete' });
    await eventually(
      () => keptIn(plinth.dataDir),
      ({ length }) => length === 0,
    );
  });

  it('is kept in memory when no file can be written', async () => {
    const { chat, sessionId } = await ask(admin);
    writeFileSync(join(plinth.dataDir, 'answers'), 'in the way');
    await relay.cut();
    simulator.release();
    const reply = await chat.rest();
    await relay.open();
    const [, answer] = await stored(admin, sessionId);

    expect(reply.frames.at(-1)?.data).toMatchObject({ done: true, stored: false });
    expect(answer).toMatchObject({ content: reply.text, state: 'complete' });
  });

  it('is kept as a file at once when the process stops', async () => {
    const { chat } = await ask(admin);
    await relay.cut();
    simulator.release();
    const closing = plinth.app.close();
    const reply = await chat.rest();
    await closing;

    expect(reply.text).toContain('tok2');
    expect(keptIn(plinth.dataDir)).toHaveLength(1);
  });
});

(onServer && isBuilt ? describe : describe.skip)('a process that is killed', () => {
  let dataDir: string;
  let client: pg.Client;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-killed-'));
    await openStore();
    client = new pg.Client({ connectionString: store.databaseUrl });
    await client.connect();
  });

  afterEach(async () => {
    killAll();
    await client.end();
    await relay.cut();
    await store.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function start() {
    const run = boot(dataDir, {
      ADMIN_PASSWORD,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      DATABASE_POOL_SIZE: '5',
      ...environment,
    });
    return { run, admin: await adminAt(await addressOf(run), ADMIN_PASSWORD) };
  }

  it(
    'leaves the answers that it has kept to the next start, which stores each once',
    async () => {
      const first = await start();
      await prepare(first.admin);
      const { chat, sessionId } = await ask(first.admin);
      await relay.cut();
      simulator.release();
      const reply = await chat.rest();
      const [name = ''] = keptIn(dataDir);
      const file = join(dataDir, 'answers', name);
      const content = readFileSync(file);
      first.run.child.kill('SIGKILL');
      await first.run.exit;
      await relay.open();
      const next = await start();
      const rows = await stored(next.admin, sessionId);
      await eventually(
        () => keptIn(dataDir),
        ({ length }) => length === 0,
      );
      // As another process that shares the folder may find it.
      writeFileSync(file, content, { mode: 0o600 });
      await eventually(
        () => keptIn(dataDir),
        ({ length }) => length === 0,
      );

      expect(reply.frames.at(-1)?.data).toMatchObject({ done: true, stored: false });
      expect(rows).toMatchObject([{ role: 'user' }, { content: reply.text, state: 'complete' }]);
      expect(await messagesOf(next.admin, sessionId)).toHaveLength(2);
    },
    START_MS,
  );

  it(
    'leaves the text so far of its turns, and rows that say how they ended',
    async () => {
      const first = await start();
      await prepare(first.admin);
      const sessionId = (await first.admin.post<string>('/system/session', {})).data;
      const body = { model: SLOW, content: 'x' };
      const chats = [
        await OpenChat.send(first.admin, { ...body, sessionId }),
        await OpenChat.send(first.admin, body),
      ];
      for (const chat of chats) await chat.until('tok9');
      await eventually(
        () => client.query(`SELECT 1 FROM chat_message WHERE content LIKE 'tok0 tok1 %'`),
        ({ rows }) => rows.length === 2,
      );
      first.run.child.kill('SIGKILL');
      await first.run.exit;
      await client.query(`UPDATE chat_session SET turn_lease = now() WHERE turn_id IS NOT NULL`);
      await client.query(`UPDATE chat_turn_lease SET lease = now()`);
      const next = await start();
      const rows = await eventually(
        async () => (await next.admin.get<Message[]>('/system/message/list')).rows,
        (all) => all.length === 4,
      );

      const answers = rows.filter(({ role }) => role === 'assistant');
      expect(answers).toHaveLength(2);
      for (const answer of answers) {
        expect(answer).toMatchObject({
          content: expect.stringMatching(/^tok0 tok1 /),
          state: 'failed',
          error: 'The service stopped while this answer was being written. Send the message again.',
        });
      }
    },
    START_MS,
  );
});
