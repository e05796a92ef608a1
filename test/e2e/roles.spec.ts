import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
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
import { attachmentsOf, createKnowledge, PARSED, settled, upload } from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const server = process.env['DATABASE_URL'];
const MODEL = 'sim-embed-64';

let dataDir: string;

afterEach(killAll);

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-roles-'));
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

(isBuilt ? describe : describe.skip)('a role', () => {
  it.each(['api', 'worker'])(
    '%s is refused on the embedded database, which serves one process',
    async (role) => {
      const run = boot(dataDir, { ROLE: role });

      expect(await run.exit).toBe(2);
      expect(run.stderr()).toContain(`ROLE "${role}" needs DATABASE_URL`);
    },
    START_MS,
  );
});

(isBuilt && server !== undefined ? describe : describe.skip)('processes with roles', () => {
  let simulator: Simulator;
  let store: OwnStore;
  let environment: Record<string, string>;

  beforeAll(async () => {
    simulator = await startSimulator();
    store = await ownStore();
    environment = { ...store.environment, ALLOW_PRIVATE_MODEL_HOSTS: '*' };
  }, START_MS);

  afterAll(async () => {
    await simulator.close();
    await store.drop();
  });

  /** The worker says that it runs and nothing else. */
  async function running(worker: BuiltProcess): Promise<void> {
    await eventually(worker.stdout, (text) => text.includes('Plinth is running'), START_MS);
    expect(worker.stdout()).toContain('"role":"worker"');
    expect(worker.stdout()).not.toContain('address');
  }

  it(
    'share the work: one takes the documents, several parse them, and one apart from the files is refused',
    async () => {
      const api = boot(dataDir, { ...environment, ROLE: 'api' });
      const admin = await adminAt(await addressOf(api), ADMIN_PASSWORD);
      await createProvider(admin, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(admin, { ...model, modelName: MODEL });
      const id = await createKnowledge(admin, { name: 'Roles', embeddingModel: MODEL });
      await upload(admin, id, [['before.txt', 'Taken while no worker runs.']]);
      const metrics = await admin.raw('GET', '/metrics');
      expect(metrics.text).toMatch(/^plinth_documents_waiting 1$/m);

      const worker = runProgram(['worker.js'], dataDir, { ...environment, WORKER_PORT: '0' });
      await running(worker);
      const [, port] = /"port":(\d+)/.exec(worker.stdout()) ?? [];
      const answers = ['/health/ready', '/metrics', '/', '/auth/code'].map(async (path) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        return [answer.status, (await answer.text()).includes('plinth_documents_waiting')];
      });
      expect(await Promise.all(answers)).toEqual([
        [200, false],
        [200, true],
        [404, false],
        [404, false],
      ]);
      expect(await settled(admin, id)).toMatchObject([{ name: 'before.txt', status: PARSED }]);
      await upload(admin, id, [['after.txt', 'Taken while a worker runs.']]);
      expect((await settled(admin, id)).map(({ status }) => status)).toEqual([PARSED, PARSED]);

      const another = boot(dataDir, { ...environment, ROLE: 'worker' });
      await running(another);
      const several = await createKnowledge(admin, { name: 'Several', embeddingModel: MODEL });
      const names = Array.from({ length: 12 }, (_, number) => `${number}.txt`);
      await upload(
        admin,
        several,
        names.map((name) => [name, `The document ${name}.`] as const),
      );
      const rows = await settled(admin, several);
      expect(rows.map(({ status }) => status)).toEqual(names.map(() => PARSED));
      expect(rows.map(({ fragmentCount }) => fragmentCount)).toEqual(names.map(() => 1));
      expect(await attachmentsOf(admin, several)).toHaveLength(names.length);
      expect(api.stdout()).not.toContain('Parsing');

      const elsewhere = join(dataDir, 'elsewhere');
      const apart = runProgram(['worker.js'], elsewhere, environment);
      expect(await apart.exit).toBe(2);
      expect(apart.stderr()).toContain(
        `The files of this database are not in DATA_DIR ${elsewhere}: it lacks the file installation.json`,
      );

      for (const run of [worker, another, api]) {
        run.child.kill('SIGTERM');
        expect(await run.exit).toBe(0);
        expect(run.stderr()).toBe('');
      }
    },
    6 * START_MS,
  );
});
