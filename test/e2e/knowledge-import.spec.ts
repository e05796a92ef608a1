import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
import { attachmentsOf, createKnowledge, PARSED } from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { ADMIN_PASSWORD } from '../support/template.js';

const MODEL = 'sim-embed-64';

(isBuilt ? describe : describe.skip)('the command that imports a folder', () => {
  let root: string;
  let dataDir: string;
  let folder: string;
  let simulator: Simulator;
  let store: OwnStore;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'plinth-import-'));
    dataDir = join(root, 'data');
    folder = join(root, 'handbook');
    simulator = await startSimulator();
    store = await ownStore({ dataDir });
    mkdirSync(join(folder, 'tides'), { recursive: true });
    writeFileSync(join(folder, 'README.md'), '# Harbour\n\nThe harbour opens at six.');
    writeFileSync(join(folder, 'tides', 'today.txt'), 'High tide is at noon.');
  });

  afterEach(killAll);

  afterAll(async () => {
    await simulator.close();
    await store.drop();
    rmSync(root, { recursive: true, force: true });
  });

  const environment = () => ({
    ADMIN_PASSWORD,
    ALLOW_PRIVATE_MODEL_HOSTS: '*',
    ...store.environment,
  });
  const command = (...args: string[]): BuiltProcess =>
    runProgram(['knowledge-import.js', ...args], dataDir, environment());

  it(
    'asks to stop the service first on the embedded store, then imports, and again what has changed',
    async () => {
      const service = boot(dataDir, environment());
      const admin = await adminAt(await addressOf(service), ADMIN_PASSWORD);
      await createProvider(admin, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(admin, { ...model, modelName: MODEL });
      const id = await createKnowledge(admin, { name: 'Handbook', embeddingModel: MODEL });
      const args = ['--knowledge', String(id), '--path', folder];

      if (store.databaseUrl === undefined) {
        const beside = command(...args);
        expect(await beside.exit).toBe(1);
        expect(beside.stderr()).toMatch(/^Plinth is running on .+ Stop the service, import/);
      }

      service.child.kill('SIGTERM');
      expect(await service.exit).toBe(0);
      const first = command(...args);
      expect(await first.exit).toBe(0);
      expect(first.stdout()).toBe(
        'Imported 2 new and 0 changed files, 0 unchanged. Parsed: 2, failed: 0.\n',
      );

      writeFileSync(join(folder, 'tides', 'today.txt'), 'High tide is at one.');
      const second = command(...args);
      expect(await second.exit).toBe(0);
      expect(second.stdout()).toBe(
        'Imported 0 new and 1 changed files, 1 unchanged. Parsed: 1, failed: 0.\n',
      );

      const again = boot(dataDir, environment());
      const rows = await attachmentsOf(await adminAt(await addressOf(again), ADMIN_PASSWORD), id);
      expect(rows.map(({ name, status }) => [name, status]).sort()).toEqual([
        ['README.md', PARSED],
        ['tides/today.txt', PARSED],
      ]);
    },
    5 * START_MS,
  );

  it(
    'names what it needs, and what it was given and cannot use',
    async () => {
      const bare = command();
      expect(await bare.exit).toBe(2);
      expect(bare.stderr()).toContain('--knowledge ID --path FOLDER');

      const wrong = command('--knowledge', 'seven', '--path', folder);
      expect(await wrong.exit).toBe(2);
      expect(wrong.stderr()).toMatch(/^--knowledge seven is not the id of a knowledge base\./);

      const stranger = command('--knowledge', '1', '--path', folder, '--user', 'nobody');
      expect(await stranger.exit).toBe(2);
      expect(stranger.stderr()).toMatch(/^Tenant 000000 has no enabled user nobody\./m);
    },
    2 * START_MS,
  );
});
