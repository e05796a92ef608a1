import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import {
  addressOf,
  adminAt,
  boot,
  isBuilt,
  killAll,
  runProgram,
  START_MS,
} from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import { OpenChat, sendChat } from '../support/chat.js';
import type { ChatReply } from '../support/chat.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { ReadinessProxy } from '../support/readiness-proxy.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';

const { DATABASE_URL, REDIS_URL } = process.env;
const isPossible = isBuilt && DATABASE_URL !== undefined && REDIS_URL !== undefined;

/** Answers that end within the drain, and answers that outlast it. */
const SHORT = 'sim--chunks-20--delay-50';
const LONG = 'sim--chunks-140--delay-50';
/** One that ends only when the service stops it. */
const ENDLESS = 'sim--chunks-5--stall-4';

const PAUSE_MS = 20;

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly finishReason: string;
}

/** A migration of a later release: its statement, and the oldest release that works on its schema. */
interface LaterMigration {
  readonly number: number;
  readonly statement: string;
  readonly worksFrom?: number;
}

/** A column with a default in a table that each turn reads and writes, and its removal. */
const EXPAND: LaterMigration = {
  number: 2_099_010_100_001,
  statement: "ALTER TABLE chat_message ADD COLUMN later_note text NOT NULL DEFAULT ''",
};
const CONTRACT: LaterMigration = {
  number: 2_099_010_200_001,
  statement: 'ALTER TABLE chat_message DROP COLUMN later_note',
  worksFrom: EXPAND.number,
};

/** A process of the service behind the proxy. */
interface Served {
  readonly run: BuiltProcess;
  readonly address: string;
}

(isPossible ? describe : describe.skip)('a rolling restart', () => {
  let folder: string;
  let simulator: Simulator;
  let store: OwnStore;
  let proxy: ReadinessProxy;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-rolling-'));
    store = await ownStore();
    proxy = await ReadinessProxy.start();
  }, START_MS);

  beforeAll(async () => {
    simulator = await startSimulator();
  });

  afterEach(async () => {
    killAll();
    await proxy.close();
    await store.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  afterAll(() => simulator.close());

  function start(graceSeconds: string, main?: string): BuiltProcess {
    const environment = {
      ...store.environment,
      ROLE: 'api',
      ADMIN_PASSWORD,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      DATABASE_POOL_SIZE: '5',
      SHUTDOWN_DRAIN_SECONDS: '5',
      SHUTDOWN_GRACE_SECONDS: graceSeconds,
    };
    const dataDir = join(folder, 'data');
    return main === undefined
      ? boot(dataDir, environment)
      : runProgram([main], dataDir, {
          ...environment,
          NODE_COMPILE_CACHE: join(folder, 'compiled'),
        });
  }

  async function serve(graceSeconds: string, main?: string): Promise<Served> {
    const run = start(graceSeconds, main);
    const address = await addressOf(run);
    proxy.add(address);
    return { run, address };
  }

  /** As a deploy does: the process gets SIGTERM, and its successor is started when it has ended. */
  async function replace(served: Served, graceSeconds: string): Promise<Served> {
    await terminate(served);
    return serve(graceSeconds);
  }

  async function terminate({ run, address }: Served, signal: NodeJS.Signals = 'SIGTERM') {
    run.child.kill(signal);
    expect(await run.exit).toBe(0);
    proxy.remove(address);
  }

  it(
    'of two processes loses no request, cuts no answer, and stores as stopped what outlasts the grace',
    async () => {
      const [first, second] = await Promise.all([serve('600'), serve('600')]);
      const admin = await adminAt(proxy.url, ADMIN_PASSWORD);
      await createProvider(admin, 'custom_api');
      for (const modelName of [SHORT, LONG, ENDLESS]) {
        await createModel(admin, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
      }
      const load = new Load(admin, [SHORT, SHORT, SHORT, LONG, LONG, LONG, LONG, LONG]);
      load.begin();
      await load.answered(10);
      const patient = await replace(first, '600');
      const hasty = await replace(second, '1');
      await load.answered(10);
      await load.end();

      expect(load.failures).toEqual([]);
      expect(load.answers.length).toBeGreaterThanOrEqual(20);
      for (const { sessionId, model, reply } of load.answers) {
        const last = model === LONG ? 'tok139' : 'tok19';
        expect([reply.error, reply.done]).toEqual([undefined, true]);
        expect(reply.text).toContain(last);
        expect(await messagesOf(admin, sessionId)).toMatchObject([
          { role: 'user' },
          { role: 'assistant', content: reply.text, state: 'complete' },
        ]);
      }

      const sessionId = await newSession(admin);
      const atHasty = await adminAt(hasty.address, ADMIN_PASSWORD);
      const chat = await OpenChat.send(atHasty, { model: ENDLESS, content: 'x', sessionId });
      await chat.until('tok3');
      const end = terminate(hasty);
      const reply = await chat.rest();
      await end;
      expect(reply.error).toMatch(/restarting/);
      expect(await messagesOf(admin, sessionId)).toMatchObject([
        { role: 'user' },
        { content: reply.text, state: 'stopped', finishReason: 'shutdown' },
      ]);
      // SIGINT neither drains nor waits for streams.
      await terminate(patient, 'SIGINT');
    },
    3 * START_MS,
  );

  it(
    'over two releases, one that adds to the schema and one that removes, loses no request',
    async () => {
      const oldest = await serve('600');
      const admin = await adminAt(proxy.url, ADMIN_PASSWORD);
      await createProvider(admin, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      await createModel(admin, { modelName: SHORT, apiHost, apiKey: 'key' });
      const load = new Load(admin, [SHORT, SHORT, SHORT, SHORT]);
      load.begin();
      await load.answered(4);

      const expanded = await serve('600', laterRelease('expanded', EXPAND));
      // Both releases serve, and statements that the oldest has prepared meet the column.
      await load.answered(8);
      await terminate(oldest);
      const contracted = await serve('600', laterRelease('contracted', EXPAND, CONTRACT));
      await load.answered(8);
      await terminate(expanded);
      await load.answered(4);
      await load.end();

      expect(load.failures).toEqual([]);
      for (const { sessionId, reply } of load.answers) {
        expect([reply.error, reply.done]).toEqual([undefined, true]);
        expect(await messagesOf(admin, sessionId)).toMatchObject([
          { role: 'user' },
          { content: reply.text, state: 'complete' },
        ]);
      }
      const refused = start('600');
      expect(await refused.exit).toBe(1);
      expect(refused.stderr()).toContain('Start the newer release, or restore a backup');
      await terminate(contracted, 'SIGINT');
    },
    3 * START_MS,
  );

  /** This build with further migrations: the program of a later release. */
  function laterRelease(name: string, ...migrations: readonly LaterMigration[]): string {
    const release = join(folder, name);
    cpSync(resolve('dist', 'bundle'), join(release, 'dist', 'bundle'), { recursive: true });
    for (const file of ['node_modules', 'package.json', join('dist', 'web')]) {
      symlinkSync(resolve(file), join(release, file));
    }
    for (const { number, statement, worksFrom } of migrations) {
      const file = `bundle/src/platform/database/migrations/${String(number).slice(0, 8)}-later.js`;
      writeFileSync(
        join(release, 'dist', file),
        `export class Later${number} {
           static worksFrom = ${worksFrom};
           up(runner) { return runner.query(${JSON.stringify(statement)}); }
         }`,
      );
    }
    return join(release, 'dist', 'bundle', 'src', 'main.js');
  }
});

async function newSession(session: Session): Promise<string> {
  const { code, msg, data } = await session.post<string>('/system/session', { sessionTitle: 'x' });
  if (code !== 200) throw new Error(msg);
  return data;
}

async function messagesOf(session: Session, sessionId: string): Promise<Message[]> {
  const list = `/system/message/list?sessionId=${sessionId}`;
  const { rows } = await session.get<{ id: string }[]>(list);
  // As they are stored: lists may add how an answer ended.
  const details = rows.map(({ id }) => session.get<Message>(`/system/message/${id}`));
  return (await Promise.all(details)).map(({ data }) => data);
}

interface LoadAnswer {
  readonly sessionId: string;
  readonly model: string;
  readonly reply: ChatReply;
}

/** Users who send messages and read lists one after another, until the end. */
class Load {
  readonly answers: LoadAnswer[] = [];
  readonly failures: string[] = [];
  private readonly users: Promise<void>[] = [];
  private ended = false;

  constructor(
    private readonly session: Session,
    private readonly models: readonly string[],
  ) {}

  begin(): void {
    for (const model of this.models) {
      this.users.push(this.repeat(() => this.chat(model)));
    }
    for (const path of ['/system/user/getInfo', '/system/session/list?pageSize=5']) {
      this.users.push(this.repeat(() => this.read(path)));
    }
  }

  /** Resolves when so many more answers have arrived, or something has failed. */
  async answered(count: number): Promise<void> {
    const goal = this.answers.length + count;
    while (this.answers.length < goal && this.failures.length === 0) await sleep(PAUSE_MS);
  }

  async end(): Promise<void> {
    this.ended = true;
    await Promise.all(this.users);
  }

  private async repeat(work: () => Promise<void>): Promise<void> {
    while (!this.ended) {
      await work().catch((error: unknown) => this.failures.push(String(error)));
      await sleep(PAUSE_MS);
    }
  }

  private async chat(model: string): Promise<void> {
    const sessionId = await newSession(this.session);
    const reply = await sendChat(this.session, { model, content: 'x', sessionId });
    this.answers.push({ sessionId, model, reply });
  }

  private async read(path: string): Promise<void> {
    const { code, msg } = await this.session.get(path);
    if (code !== 200) throw new Error(`${path}: ${code} ${msg}`);
  }
}
