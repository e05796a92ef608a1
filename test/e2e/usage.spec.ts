import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import { sendChat } from '../support/chat.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { done } from '../support/people.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const QUESTION = { model: 'sim-chat', content: 'Hello' };
const CALLS = 20;

let dataDir: string;

afterEach(killAll);

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-usage-'));
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

(isBuilt ? describe : describe.skip)('the usage ledger of a process that ends', () => {
  let simulator: Simulator;
  let store: OwnStore;

  beforeAll(async () => {
    simulator = await startSimulator();
    store = await ownStore({ dataDir });
  }, START_MS);

  afterAll(async () => {
    await simulator.close();
    await store.drop();
  });

  async function recorded(session: Session): Promise<number> {
    return done(await session.get<{ total: { calls: number } }>('/monitor/usage')).data.total.calls;
  }

  it(
    'are whole after a stop, and after a kill without the last calls at most',
    async () => {
      const environment = {
        ...store.environment,
        ADMIN_PASSWORD,
        ALLOW_PRIVATE_MODEL_HOSTS: '*',
        CHAT_STREAMS_PER_USER: String(CALLS),
      };
      const stopped = boot(dataDir, environment);
      const first = await adminAt(await addressOf(stopped), ADMIN_PASSWORD);
      await createProvider(first, 'custom_api');
      await createModel(first, {
        apiHost: `${simulator.url}/v1`,
        apiKey: 'key',
        modelName: 'sim-chat',
      });
      const ask = (session: Session): Promise<unknown> =>
        Promise.all(Array.from({ length: CALLS }, () => sendChat(session, QUESTION)));
      await ask(first);
      stopped.child.kill('SIGTERM');
      expect(await stopped.exit).toBe(0);

      const killed = boot(dataDir, environment);
      const second = await adminAt(await addressOf(killed), ADMIN_PASSWORD);
      // What ended right before the stop was written by it.
      expect(await recorded(second)).toBe(CALLS);
      await ask(second);
      await eventually(
        () => recorded(second),
        (calls) => calls === 2 * CALLS,
      );
      await sendChat(second, QUESTION);
      killed.child.kill('SIGKILL');
      await killed.exit;

      const last = await adminAt(await addressOf(boot(dataDir, environment)), ADMIN_PASSWORD);
      const found = await recorded(last);
      expect(found - 2 * CALLS).toBeGreaterThanOrEqual(0);
      expect(found - 2 * CALLS).toBeLessThanOrEqual(1);
    },
    START_MS,
  );
});
