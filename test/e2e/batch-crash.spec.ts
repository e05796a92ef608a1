import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { makeKey } from '../support/api-keys.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const LINES = 12;
/** Half of the places of the user. */
const AT_ONCE = 2;

(isBuilt ? describe : describe.skip)('a process that is killed while it answers a batch', () => {
  let dataDir: string;
  let simulator: Simulator;
  let store: OwnStore;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-batch-'));
    simulator = await startSimulator();
    store = await ownStore({ dataDir });
  });

  afterEach(killAll);

  afterAll(async () => {
    await simulator.close();
    await store.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it(
    'goes on after the restart, and asks nothing again that was answered',
    async () => {
      const start = () =>
        boot(dataDir, {
          ADMIN_PASSWORD,
          ALLOW_PRIVATE_MODEL_HOSTS: '*',
          CHAT_STREAMS_PER_USER: String(2 * AT_ONCE),
          ...store.environment,
        });
      const first = start();
      const admin = await adminAt(await addressOf(first), ADMIN_PASSWORD);
      await createProvider(admin, 'custom_messages');
      const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key-of-the-service' };
      const modelName = 'sim--echo--first-400';
      await createModel(admin, { ...service, modelName, providerCode: 'custom_messages' });
      const { key: apiKey } = await makeKey(admin, { permissions: ['chat:chat:use'] });
      const before = new Anthropic({ baseURL: admin.url, apiKey, maxRetries: 0 });
      const { id } = await before.messages.batches.create({
        requests: Array.from({ length: LINES }, (_, at) => ({
          custom_id: `n-${at}`,
          params: {
            ...{ model: modelName, max_tokens: 20 },
            messages: [{ role: 'user', content: `line ${at}` }],
          },
        })),
      });
      await eventually(
        () => simulator.requests.length,
        (count) => count >= 3 * AT_ONCE,
        START_MS,
      );
      first.child.kill('SIGKILL');
      await first.exit;

      const second = start();
      const baseURL = await addressOf(second);
      const after = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
      const batch = await eventually(
        () => after.messages.batches.retrieve(id),
        ({ processing_status }) => processing_status === 'ended',
        START_MS,
      );
      expect(batch.request_counts).toMatchObject({ succeeded: LINES, errored: 0 });
      const ids: string[] = [];
      for await (const { custom_id } of await after.messages.batches.results(id))
        ids.push(custom_id);
      expect(ids).toEqual(Array.from({ length: LINES }, (_, at) => `n-${at}`));
      // Those that were being answered are asked once more.
      expect(simulator.requests.length).toBeLessThanOrEqual(LINES + AT_ONCE);
      expect(simulator.requests.length).toBeGreaterThanOrEqual(LINES);
    },
    2 * START_MS,
  );
});
