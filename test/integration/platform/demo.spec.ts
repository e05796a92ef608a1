import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import type { DemoSeed } from '../../../src/demo/demo.seed.js';
import { EmbeddingClient, RerankClient } from '../../../src/model/index.js';
import { CalledModels } from '../../support/called-models.js';
import { demoSeedOf } from '../../support/demo-seed.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { TRYING } from '../../support/upstream-calls.js';
import { eventually } from '../../support/wait.js';

let plinth: Plinth;
let simulator: Simulator;
let seed: DemoSeed;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  seed = demoSeedOf(plinth);
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

it('sets up an embedding and a rerank model that work, and that follow the simulator', async () => {
  await seed.apply('http://127.0.0.1:9');
  await seed.apply(simulator.url);
  const models = new CalledModels(plinth);
  const signal = new AbortController().signal;
  const embedding = await models.embedding('demo-embedding-384');
  expect(embedding.connection.address).toBe(`${simulator.url}/v1`);
  const vectors = await plinth.app
    .get(EmbeddingClient, { strict: false })
    .embed(embedding, ['Annual leave'], { use: TRYING, signal, purpose: 'document' });
  expect(vectors.map(({ length }) => length)).toEqual([384]);
  const ranked = await plinth.app
    .get(RerankClient, { strict: false })
    .rerank(await models.rerank('demo-rerank'), 'leave', ['Parking', 'Annual leave'], {
      use: TRYING,
      topN: 1,
      signal,
    });
  expect(ranked.map(({ index }) => index)).toEqual([1]);
});

it('shows a picture, lets a sound be heard, and makes a film, at once and as tasks', async () => {
  const admin = await plinth.signIn();
  interface Made {
    readonly id: string;
    readonly status: string | null;
    readonly dataUrl: string | null;
    readonly url: string | null;
  }
  const made = async (kind: string, model: string): Promise<Made> => {
    const body = { model, prompt: 'A lighthouse at dusk', input: 'Welcome aboard', size: '64x64' };
    return done(await admin.post<Made>(`/media/${kind}`, body)).data;
  };
  const followed = async (lookup: string): Promise<Made> => {
    const answer = await eventually(
      () => admin.get<Made>(lookup),
      ({ data }) => data.status === 'completed',
    );
    return answer.data;
  };
  const head = (bytes: Buffer): string => bytes.toString('latin1', 0, 12);
  const embedded = ({ dataUrl }: Made): string =>
    head(Buffer.from(dataUrl?.split(',')[1] ?? '', 'base64'));
  const linked = async ({ url }: Made): Promise<string> =>
    head(Buffer.from(await (await request(url ?? '')).body.arrayBuffer()));

  expect(embedded(await made('image', 'demo-image'))).toContain('PNG');
  expect(embedded(await made('speech', 'demo-speech'))).toMatch(/^RIFF.{4}WAVE/s);
  const { id: film } = await made('video', 'demo-video');
  expect(await linked(await followed(`/media/video?model=demo-video&videoId=${film}`))).toContain(
    'ftyp',
  );
  for (const [kind, sign] of [
    ['image', 'PNG'],
    ['speech', 'WAVE'],
    ['video', 'ftyp'],
  ] as const) {
    const model = `demo-${kind}-task`;
    const { id } = await made(kind, model);
    const lookup = `/media/prediction?model=${model}&predictionId=${id}`;
    expect(await linked(await followed(lookup))).toContain(sign);
  }
});

it('has a model that works in repositories, and one to work in', async () => {
  const admin = await plinth.signIn();
  const { rows } = await admin.get<Record<string, unknown>[]>(
    '/system/model/list?modelName=demo-coder-paced',
  );
  expect(rows).toEqual([
    expect.objectContaining({ supportsTools: true, contextWindow: 64_000, inputPrice: 0.5 }),
  ]);
  const offered = await admin.get<{ modelName: string }[]>('/system/model/modelList');
  const names = offered.data.map(({ modelName }) => modelName);
  expect(names).toContain('demo-chat-paced');
  expect(names).not.toContain('demo-coder-paced');
  const root = join(plinth.dataDir, 'workspaces', '000000');
  if (process.env['DATABASE_URL']) {
    // On a server the operator says where workspaces are.
    expect(existsSync(root)).toBe(false);
    return;
  }
  expect(readdirSync(root)).toEqual(['example']);
  const read = (path: string): string => readFileSync(join(root, 'example', path), 'utf8');
  expect(read('README.md')).toContain('Ten pieces or more');
  expect(read('.agents/skills/project-conventions/SKILL.md')).toMatch(/^---\nname: project-conv/);
});

it('gives both once to an installation that had the demo before, and never again', async () => {
  const admin = await plinth.signIn();
  const list = async () =>
    admin.get<{ id: number }[]>('/system/model/list?modelName=demo-coder-paced');
  const example = join(plinth.dataDir, 'workspaces', '000000', 'example');
  const forget = async (): Promise<void> => {
    const [model] = (await list()).rows;
    await admin.delete(`/system/model/${model?.id}`);
    rmSync(example, { recursive: true, force: true });
  };
  await forget();
  await seed.apply(simulator.url);
  expect([(await list()).total, existsSync(example)]).toEqual([0, false]);
  writeFileSync(join(plinth.dataDir, 'demo.json'), JSON.stringify({ url: simulator.url }));
  await seed.apply(simulator.url);
  expect((await list()).total).toBe(1);
  expect(existsSync(example)).toBe(!process.env['DATABASE_URL']);
});

it('leaves a folder alone that is there already', async () => {
  const example = join(plinth.dataDir, 'workspaces', '000000', 'example');
  rmSync(example, { recursive: true, force: true });
  mkdirSync(example, { recursive: true });
  writeFileSync(join(example, 'mine.txt'), 'mine');
  writeFileSync(join(plinth.dataDir, 'demo.json'), JSON.stringify({ url: simulator.url }));
  await seed.apply(simulator.url);
  expect(readdirSync(example)).toEqual(['mine.txt']);
  expect(readdirSync(dirname(example))).toEqual(['example']);
});

it('makes the repository where HARNESS_ROOTS says, once per folder', async () => {
  const root = mkdtempSync(join(tmpdir(), 'plinth-roots-'));
  const example = join(root, 'example');
  const withRoots = (...paths: string[]): DemoSeed => {
    const HARNESS_ROOTS = paths.map((path) => ({ tenantId: '000000', path }));
    const others = [{ tenantId: '000001', path: join(root, 'others') }];
    return demoSeedOf(plinth, { HARNESS_ROOTS: [...others, ...HARNESS_ROOTS] });
  };
  try {
    await withRoots(root).apply(simulator.url);
    expect(readdirSync(root)).toEqual(['example']);
    expect(readFileSync(join(example, 'README.md'), 'utf8')).toContain('Ten pieces or more');
    rmSync(example, { recursive: true });
    await withRoots(root).apply(simulator.url);
    expect(existsSync(example)).toBe(false);
    const late = join(root, 'late');
    await withRoots(late, root).apply(simulator.url);
    expect(plinth.log.join('\n')).toContain('Failed to write the example repository');
    mkdirSync(late);
    await withRoots(late, root).apply(simulator.url);
    expect(readdirSync(late)).toEqual(['example']);
    await withRoots().apply(simulator.url);
    expect(readdirSync(root)).toEqual(['late']);
  } finally {
    rmSync(root, { recursive: true });
  }
});

it('keeps deleted what was deleted', async () => {
  const admin = await plinth.signIn();
  const list = async () =>
    admin.get<{ id: number; modelName: string }[]>('/system/model/list?modelName=demo-rerank');
  const [model] = (await list()).rows;
  await admin.delete(`/system/model/${model?.id}`);
  await seed.apply(simulator.url);
  expect((await list()).total).toBe(0);
});

it('leaves out the models of a provider that is disabled, and moves them once it is enabled', async () => {
  const admin = await plinth.signIn();
  const name = 'demo-messages-paced';
  interface Listed {
    readonly id: number;
    readonly modelName: string;
    readonly apiHost: string;
  }
  const models = async (): Promise<Listed[]> =>
    done(await admin.get<Listed[]>('/system/model/list?pageSize=1000')).rows;
  const addressOf = async (wanted: string): Promise<string | undefined> =>
    (await models()).find(({ modelName }) => modelName === wanted)?.apiHost;
  const providers = '/system/provider/list?providerCode=custom_messages';
  const [provider] = done(await admin.get<{ id: number }[]>(providers)).rows;
  const setStatus = async (status: number): Promise<void> => {
    done(await admin.put('/system/provider', { id: provider?.id, status }));
  };

  await setStatus(1);
  await seed.apply('http://127.0.0.1:9');
  await seed.apply('http://127.0.0.1:10');
  expect(await addressOf('demo-chat-paced')).toBe('http://127.0.0.1:10/v1');
  expect(await addressOf(name)).toBe(`${simulator.url}/v1`);
  await setStatus(0);
  await seed.apply('http://127.0.0.1:11');
  expect(await addressOf(name)).toBe('http://127.0.0.1:11/v1');
  await seed.apply(simulator.url);

  // As after a set-up that failed half-way.
  await setStatus(1);
  const before = (await models()).filter(({ modelName }) => modelName === name);
  for (const { id } of before) done(await admin.delete(`/system/model/${id}`));
  rmSync(join(plinth.dataDir, 'demo.json'));
  await seed.apply(simulator.url);
  const names = (await models()).map(({ modelName }) => modelName);
  expect(names).not.toContain(name);
  expect(names).toEqual([...new Set(names)]);
  expect(plinth.log.join('\n')).toContain('Demo model skipped');
  await setStatus(0);
});
