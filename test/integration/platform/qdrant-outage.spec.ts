import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  attachmentsOf,
  createKnowledge,
  PARSED,
  settled,
  upload,
} from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { changesOf, dependencyUp, errorsSince, readiness } from '../../support/outages.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { QdrantStandIn } from '../../support/qdrant/qdrant-stand-in.js';
import type { Session } from '../../support/session.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { embeddedTemplate } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const MODEL = 'sim-embed-64';
const UNAVAILABLE = {
  code: 503,
  msg: 'The vector store is not available at the moment. Try again in a few seconds.',
  data: null,
};

const FROZEN = [['frozen.txt', 'Uploaded while Qdrant was frozen.']] as const;

let simulator: Simulator;
let qdrant: QdrantStandIn;
let relay: TcpRelay;
let plinth: Plinth;
let root: Session;
let inQdrant: number;
let inDatabase: number;

const isUp = (state: number) =>
  eventually(
    () => dependencyUp(plinth, 'vectorStore'),
    (up) => up === state,
  );

const search = (knowledgeId: number) => {
  const body = { knowledgeId: String(knowledgeId), query: 'Where do tulips grow?' };
  return root.raw('POST', '/system/fragment/retrieval', body);
};

const found = async (knowledgeId: number): Promise<string[]> => {
  const { data } = JSON.parse((await search(knowledgeId)).text) as { data: { content: string }[] };
  return data.map(({ content }) => content);
};

beforeAll(async () => {
  // Making the template starts a silent service, which would take the log of this one.
  await embeddedTemplate();
  simulator = await startSimulator();
  qdrant = await QdrantStandIn.start();
  relay = new TcpRelay(new URL(qdrant.url));
  plinth = await Plinth.start({ QDRANT_URL: await relay.open() });
  root = await plinth.signIn();
  await createProvider(root, 'custom_api');
  await createModel(root, {
    modelName: MODEL,
    category: 'vector',
    modelDimension: 64,
    apiHost: `${simulator.url}/v1`,
    apiKey: 'key',
  });
  const base = { embeddingModel: MODEL, enableHybrid: false };
  inQdrant = await createKnowledge(root, { ...base, name: 'In Qdrant', vectorModel: 'qdrant' });
  inDatabase = await createKnowledge(root, { ...base, name: 'In SQL', vectorModel: 'exact' });
  for (const id of [inQdrant, inDatabase]) {
    await upload(root, id, [['tulips.txt', 'Tulips grow in Holland.']]);
    expect(await settled(root, id)).toMatchObject([{ status: PARSED }]);
  }
});

afterAll(async () => {
  await plinth.stop();
  await relay.cut();
  await qdrant.stop();
  await simulator.close();
});

describe('Qdrant that goes away', () => {
  it('leaves the process in service, is answered as 503, and has one line for each change', async () => {
    expect(await found(inQdrant)).toEqual(['Tulips grow in Holland.']);
    const position = plinth.log.length;
    await relay.cut();
    const answers = await Promise.all(Array.from({ length: 5 }, () => search(inQdrant)));
    for (const { text, headers } of [...answers, await search(inQdrant)]) {
      expect([JSON.parse(text), headers['retry-after']]).toEqual([UNAVAILABLE, '5']);
    }
    expect(await readiness(plinth)).toMatchObject({
      status: 200,
      body: {
        status: 'degraded',
        checks: {
          store: { status: 'up' },
          vectorStore: { status: 'degraded', kind: 'qdrant' },
        },
      },
    });
    expect(await dependencyUp(plinth, 'vectorStore')).toBe(0);
    expect(await found(inDatabase)).toEqual(['Tulips grow in Holland.']);

    await relay.open();
    await isUp(1);
    expect(await readiness(plinth)).toMatchObject({ status: 200, body: { status: 'up' } });
    expect(await found(inQdrant)).toEqual(['Tulips grow in Holland.']);
    expect(changesOf(plinth, 'vectorStore')).toEqual(['unavailable', 'recovered']);
    expect(errorsSince(plinth, position)).toEqual([]);
    const contexts = plinth.log
      .slice(position)
      .map((line) => JSON.parse(line) as { context?: string; level: string })
      .filter(({ level, context }) => level === 'warn' && context !== 'Request')
      .map(({ context }) => context);
    expect(contexts).toEqual(['Dependencies']);
  });

  it('ends a search in seconds when it freezes, and keeps documents until it goes on', async () => {
    relay.freeze();
    const [answer, uploaded] = await Promise.all([
      search(inQdrant),
      upload(root, inQdrant, FROZEN),
    ]);
    expect(JSON.parse(answer.text)).toEqual(UNAVAILABLE);
    expect(uploaded.code).toBe(200);
    await isUp(0);
    expect(await readiness(plinth)).toMatchObject({
      ...{ status: 200, body: { checks: { vectorStore: { status: 'degraded' } } } },
    });
    const document = async () =>
      (await attachmentsOf(root, inQdrant)).find(({ name }) => name === FROZEN[0][0]);
    await eventually(document, (row) => row?.waitingFor === UNAVAILABLE.msg);
    // After a day of it as well.
    await plinth.app.get(Database).query(
      `UPDATE attachment SET awaited_since = now() - interval '1 day', due_at = now()
        WHERE tenant_id = $1 AND id = $2`,
      ['000000', (await document())?.id],
    );
    await eventually(document, (row) => row?.waitingFor === UNAVAILABLE.msg);

    relay.thaw();
    await isUp(1);
    await plinth.app
      .get(Database)
      .query('UPDATE attachment SET due_at = now() WHERE tenant_id = $1 AND parse_requested', [
        '000000',
      ]);
    const rows = await settled(root, inQdrant);
    expect(rows.map(({ status }) => status)).toEqual([PARSED, PARSED]);
    expect(await found(inQdrant)).toContain('Uploaded while Qdrant was frozen.');
    done(await root.delete(`/system/attach/${(await document())?.id}`));
  }, 150_000);

  it('is not away while it is slow', async () => {
    await relay.cut();
    relay.slow(150);
    await relay.open();
    await isUp(1);
    const before = changesOf(plinth, 'vectorStore');
    expect(await found(inQdrant)).toEqual(['Tulips grow in Holland.']);
    expect(changesOf(plinth, 'vectorStore')).toEqual(before);
    relay.slow(0);
  });

  it('shows without a request that needs it', async () => {
    await relay.cut();
    await isUp(0);
    await relay.open();
    await isUp(1);
  });

  it('fails no document: one that is uploaded meanwhile waits for it', async () => {
    await relay.cut();
    await isUp(0);
    await upload(root, inQdrant, [['meanwhile.txt', 'Uploaded while Qdrant was away.']]);
    const document = async () =>
      (await attachmentsOf(root, inQdrant)).find(({ name }) => name === 'meanwhile.txt');
    await eventually(document, (row) => row?.waitingFor === UNAVAILABLE.msg);
    await relay.open();
    const rows = await settled(root, inQdrant);
    expect(rows.map(({ status }) => status)).toEqual([PARSED, PARSED]);
  }, 150_000);
});
