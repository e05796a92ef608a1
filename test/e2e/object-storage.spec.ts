import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
import { createKnowledge, PARSED, settled, upload } from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { s3Credentials, s3Server, TestBucket } from '../support/s3-server.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const MODEL = 'sim-embed-64';
const TEXT = 'A document that crosses machines.';
const runs = isBuilt && process.env['DATABASE_URL'] !== undefined && s3Server !== '';

(runs ? describe : describe.skip)('processes that share no folder', () => {
  let folder: string;
  let bucket: TestBucket;
  let simulator: Simulator;
  let store: OwnStore;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-machines-'));
    bucket = await TestBucket.make();
    simulator = await startSimulator();
    store = await ownStore();
  }, START_MS);

  afterAll(async () => {
    killAll();
    await simulator.close();
    await store.drop();
    bucket.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    'upload, parse, search and send files, and a command moves them to a disk',
    async () => {
      const STORAGE_URL = bucket.url();
      const environment = {
        ...store.environment,
        ...s3Credentials,
        ALLOW_PRIVATE_MODEL_HOSTS: '*',
      };
      const onBucket = { ...environment, STORAGE_URL };
      const api = boot(join(folder, 'api'), { ...onBucket, ROLE: 'api' });
      const admin = await adminAt(await addressOf(api), ADMIN_PASSWORD);
      const worker = runProgram(['worker.js'], join(folder, 'worker'), onBucket);
      await eventually(worker.stdout, (text) => text.includes('Plinth is running'), START_MS);

      await createProvider(admin, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(admin, { ...model, modelName: MODEL });
      const id = await createKnowledge(admin, { name: 'Machines', embeddingModel: MODEL });
      await upload(admin, id, [['crossing.txt', TEXT]]);
      const [document] = await settled(admin, id);
      expect(document).toMatchObject({ status: PARSED, fragmentCount: 1 });
      const hits = await admin.post('/system/fragment/retrieval', {
        knowledgeId: String(id),
        query: TEXT,
      });
      expect(JSON.stringify(hits)).toContain(TEXT);
      const content = await admin.raw('GET', `/system/attach/${document?.id}/content`);
      expect(content.text).toContain(TEXT);
      const form = new FormData();
      form.append('file', new Blob([TEXT]), 'note.txt');
      const { data } = await admin.upload<{ ossId: string }>('/resource/oss/upload', form);
      const download = await admin.raw('GET', `/resource/oss/download/${data.ossId}`);
      expect(download.text).toBe(TEXT);

      const elsewhere = boot(join(folder, 'elsewhere'), { ...environment, ROLE: 'worker' });
      expect(await elsewhere.exit).toBe(2);
      expect(elsewhere.stderr()).toContain('it lacks the file installation.json');

      const toDisk = runProgram(
        ['storage-move.js', '--to', 'disk'],
        join(folder, 'disk'),
        onBucket,
      );
      expect(await toDisk.exit).toBe(0);
      expect(toDisk.stdout()).toContain('2 files copied');
      const toS3 = runProgram(['storage-move.js', '--to', 's3'], join(folder, 'disk'), onBucket);
      expect(await toS3.exit).toBe(0);
      expect(toS3.stdout()).toContain('0 files copied (0 bytes), 2 there already');

      for (const run of [worker, api]) {
        run.child.kill('SIGTERM');
        expect(await run.exit).toBe(0);
      }
    },
    3 * START_MS,
  );
});
