import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import {
  attachmentsOf,
  createKnowledge,
  fragmentsOf,
  PARSED,
  upload,
} from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { eventually } from '../../support/wait.js';

const MODEL = 'sim-embed-64';

let plinth: Plinth;
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({ PARSE_WORKERS: '1' });
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function query(sql: string): Promise<void> {
  await acrossTenants('test', () => plinth.app.get(Database).query(sql));
}

it('a worker that was frozen until another one has its document stores nothing of it', async () => {
  const admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const apiHost = `${simulator.url}/v1`;
  const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
  await createModel(admin, { ...model, modelName: MODEL });
  const base = await createKnowledge(admin, { name: 'Leases', embeddingModel: MODEL });
  simulator.script({ match: { path: '/embeddings' }, hold: true });
  await upload(admin, base, [['frozen.txt', 'Parsed by two workers.']]);
  await eventually(
    () => simulator.held,
    (count) => count === 1,
  );
  const token = '7a1c0b0e-5d0f-4a57-9d9e-0f3f1e0c2b11';
  await query(
    `UPDATE attachment SET lease_token = '${token}', lease_until = now() + interval '1 hour'`,
  );
  simulator.release();
  // One document is parsed at a time: this one after the attempt at the other has ended.
  await upload(admin, base, [['after.txt', 'Parsed afterwards.']]);
  const [frozen, after] = await eventually(
    async () => {
      const rows = await attachmentsOf(admin, base);
      return rows.toSorted((a, b) => a.id - b.id);
    },
    (rows) => rows[1]?.status === PARSED,
  );

  expect(after).toMatchObject({ fragmentCount: 1 });
  expect(frozen).toMatchObject({ status: 1, fragmentCount: 0, remark: null });
  expect(await fragmentsOf(admin, frozen?.docId ?? '')).toEqual([]);
});
