import { rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { EMBEDDING_BATCH } from '../../../src/model/embedding/embedding.client.js';
import { byTest } from '../../support/asked-by-test.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { VectorReconciliation } from '../../../src/attach/reconciliation/vector-reconciliation.js';
import { VectorRemovals } from '../../../src/fragment/vector-removals.js';
import { Database } from '../../../src/platform/database/index.js';
import { OK_MESSAGE } from '../../../src/platform/http/index.js';
import { english } from '../../../src/platform/message/index.js';
import { VectorStores } from '../../../src/vector-store/index.js';
import { canary } from '../../support/canary.js';
import { sendChat } from '../../support/chat.js';
import {
  attachmentsOf,
  createKnowledge,
  PARSED,
  settled,
  upload,
} from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { dependencyUp, readiness } from '../../support/outages.js';
import { done, makeTenant } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { QdrantStandIn } from '../../support/qdrant/qdrant-stand-in.js';
import type { Answer, Session } from '../../support/session.js';
import { unitVector } from '../../support/vectors/unit-vector.js';
import { eventually } from '../../support/wait.js';

const { signal } = new AbortController();

/** Two documents of several fragments each. */
const FILES: readonly (readonly [string, string])[] = ['warranty', 'shipping'].map((topic) => [
  `${topic}.txt`,
  Array.from(
    { length: 5 },
    (_, n) => `The ${topic} of laptop ${n}: ${`word${n} `.repeat(60)}`,
  ).join('\n\n'),
]);

interface Channels {
  readonly channels: { readonly vector: { readonly hits: number; readonly incomplete?: boolean } };
}

describe('an installation with Qdrant', () => {
  let qdrant: QdrantStandIn;
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    qdrant = await QdrantStandIn.start();
    qdrant.apiKey = canary.plant('qdrant');
    plinth = await Plinth.start({
      QDRANT_URL: qdrant.url,
      QDRANT_API_KEY: qdrant.apiKey,
      QDRANT_PREFIX: 'plinth-test',
    });
    root = await plinth.signIn();
  });

  afterAll(async () => {
    await plinth.stop();
    await qdrant.stop();
  });

  /** A tenant with one vector, whose id is answered. */
  async function tenantWithVector(tenantId: string): Promise<number> {
    const { id } = await makeTenant(plinth, root, tenantId);
    const entry = { fragmentId: id, attachmentId: 1, vector: unitVector(4, id) };
    const store = byTest(plinth.app.get(VectorStores).default());
    await store.upsert({ tenantId, knowledgeId: 1 }, [entry], signal);
    return id;
  }

  async function tenantsWithVectors(): Promise<string[]> {
    const scopes = await byTest(plinth.app.get(VectorStores).default()).scopes(signal);
    return scopes.map(({ tenantId }) => tenantId).sort();
  }

  it('keeps its vectors there, in collections of its own', async () => {
    await tenantWithVector('314001');
    expect(plinth.app.get(VectorStores).default().code).toBe('qdrant');
    expect(plinth.app.get(VectorStores).configured('exact').code).toBe('exact');
    expect([...qdrant.collections.keys()]).toEqual(['plinth-test_4']);
  });

  it('removes the vectors of a tenant with the tenant', async () => {
    const id = await tenantWithVector('314002');
    expect(await tenantsWithVectors()).toEqual(['314001', '314002']);
    done(await root.delete(`/system/tenant/${id}`));
    expect(await tenantsWithVectors()).toEqual(['314001']);
    expect(qdrant.wrong).toEqual([]);
  });

  it('deletes a tenant also while Qdrant is away, and says in the log what is left', async () => {
    const id = await tenantWithVector('314003');
    qdrant.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    done(await root.delete(`/system/tenant/${id}`));
    qdrant.fault = undefined;
    await eventually(
      () => dependencyUp(plinth, 'vectorStore'),
      (up) => up === 1,
    );

    expect(await tenantsWithVectors()).toEqual(['314001', '314003']);
    const lines = plinth.log.filter((line) =>
      line.includes('Failed to remove the vectors of a deleted tenant'),
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ store: 'qdrant', tenantId: '314003', level: 'error' }),
    ]);
  });
});

describe('lost vectors', () => {
  let qdrant: QdrantStandIn;
  let simulator: Simulator;
  let plinth: Plinth;
  let root: Session;
  let knowledgeId: number;

  overrideConstants(EMBEDDING_BATCH, { size: 2 });

  beforeAll(async () => {
    qdrant = await QdrantStandIn.start();
    simulator = await startSimulator();
    plinth = await Plinth.start({ QDRANT_URL: qdrant.url });
    root = await plinth.signIn();
    await createProvider(root, 'custom_api');
    const model = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    await createModel(root, { ...model, modelName: 'sim--echo' });
    const vector = { ...model, category: 'vector', modelDimension: 64 };
    await createModel(root, { ...vector, modelName: 'sim-embed-64' });
    const base = { name: 'Lost', embeddingModel: 'sim-embed-64' };
    knowledgeId = await createKnowledge(root, base);
    await upload(root, knowledgeId, FILES);
    expect((await settled(root, knowledgeId)).map(({ status }) => status)).toEqual([
      PARSED,
      PARSED,
    ]);
    // Nothing is parsed again: no file is there to be read.
    rmSync(join(plinth.dataDir, 'files'), { recursive: true });
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    await qdrant.stop();
  });

  const scope = () => ({ tenantId: '000000', knowledgeId });
  const store = () => byTest(plinth.app.get(VectorStores).default());
  const stored = (): Promise<number> => store().count(scope(), undefined, signal);
  const logged = (msg: string): number =>
    plinth.log.filter((line) => line.includes(`"msg":"${msg}`)).length;
  const lostTime = async (): Promise<unknown> =>
    done(await root.get<Record<string, unknown>>(`/system/info/${knowledgeId}`)).data[
      'vectorsLostTime'
    ];
  const gauge = async (): Promise<string | undefined> =>
    /^plinth_bases_without_vectors (\d+)$/m.exec((await root.raw('GET', '/metrics')).text)?.[1];
  const retrieve = async (): Promise<Answer<{ sourceName: string }[]> & Channels> => {
    const body = { knowledgeId, query: 'warranty of a laptop' };
    return (await root.post('/system/fragment/retrieval', body)) as Awaited<
      ReturnType<typeof retrieve>
    >;
  };

  /** Holds every write of vectors until the answered function is called. */
  function holdWrites(): () => void {
    const held: ServerResponse[] = [];
    qdrant.fault = ({ method, path }, response) => {
      const isWrite = method === 'PUT' && path.endsWith('/points');
      if (isWrite) held.push(response);
      return isWrite;
    };
    return () => {
      qdrant.fault = undefined;
      // The client sends them again.
      for (const response of held) response.destroy();
    };
  }

  it('of a collection that is gone are noticed by a search and made again from the fragments', async () => {
    const complete = await stored();
    expect(complete).toBeGreaterThan(4);
    expect((await retrieve()).channels.vector).not.toHaveProperty('incomplete');
    expect([await lostTime(), await gauge()]).toEqual([null, '0']);

    const release = holdWrites();
    qdrant.collections.clear();
    const lost = await retrieve();
    expect([lost.code, lost.data]).toEqual([200, []]);
    expect(lost.channels.vector).toMatchObject({ hits: 0, incomplete: true });
    expect(lost.msg).toContain('Vector search is incomplete');
    const { fragmentCount } = (await attachmentsOf(root, knowledgeId))[0] ?? {};
    expect(fragmentCount).toBeGreaterThan(0);
    expect([typeof (await lostTime()), await gauge()]).toEqual(['string', '1']);
    expect((await retrieve()).msg).toContain('Vector search is incomplete');
    const reply = await sendChat(root, { model: 'sim--echo', content: 'A laptop?', knowledgeId });
    const frame = reply.frames.find(({ event }) => event === 'sources');
    expect(frame?.data).toMatchObject({ sources: [], incomplete: true });

    release();
    await eventually(lostTime, (time) => time === null);
    expect(await stored()).toBe(complete);
    const found = await retrieve();
    expect(found.data[0]?.sourceName).toBe('warranty.txt');
    expect([found.msg, found.channels.vector.incomplete]).toEqual([english(OK_MESSAGE), undefined]);
    expect(await gauge()).toBe('0');
    expect(logged('Vectors lost')).toBe(1);
    expect(logged('Vectors restored')).toBe(1);
    for (const row of await attachmentsOf(root, knowledgeId)) {
      expect(row).toMatchObject({ status: PARSED, remark: null, waitingFor: null });
    }
  });

  it('of one document are found by the reconciliation, which embeds that document alone', async () => {
    const complete = await stored();
    const [row] = await plinth.app.get(Database).query<{ id: number; attachmentId: number }>(
      `SELECT id, attachment_id AS "attachmentId" FROM fragment
        WHERE tenant_id = $1 AND knowledge_id = $2 ORDER BY id LIMIT 1`,
      ['000000', knowledgeId],
    );
    await store().removeFragments(scope(), [row?.id ?? 0], signal);
    const before = logged('Vectors lost');
    const release = holdWrites();
    expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(0);
    const marked = (await attachmentsOf(root, knowledgeId)).filter(
      ({ status }) => status !== PARSED,
    );
    expect(marked.map(({ id }) => id)).toEqual([row?.attachmentId]);
    const found = await retrieve();
    expect(found.data.length).toBeGreaterThan(0);
    expect(found.channels.vector.incomplete).toBe(true);
    // What is marked already is not asked for again.
    await plinth.app.get(VectorReconciliation).reconcile();
    expect(logged('Vectors lost')).toBe(before + 1);

    release();
    await eventually(lostTime, (time) => time === null);
    expect(await stored()).toBe(complete);
    expect(qdrant.wrong).toEqual([]);
  });

  it('are not those of fragments that were written by hand', async () => {
    const [document] = await attachmentsOf(root, knowledgeId);
    const written = { docId: document?.docId, content: 'Written by hand.' };
    done(await root.post('/system/fragment', written));
    const before = logged('Vectors lost');
    await plinth.app.get(VectorReconciliation).reconcile();
    expect([logged('Vectors lost'), await lostTime()]).toEqual([before, null]);
  });

  const waiting = async (): Promise<unknown[]> => {
    const { data } = done(await root.get<Record<string, unknown>>(`/system/info/${knowledgeId}`));
    const { text } = await root.raw('GET', '/metrics');
    return [data['vectorRemovals'], /^plinth_vector_removals_waiting (\d+)$/m.exec(text)?.[1]];
  };

  /** Refuses to remove vectors; the answered function ends that. */
  function refuseRemovals(): () => void {
    qdrant.fault = ({ path }, response) => {
      const isRemoval = path.endsWith('/points/delete');
      if (isRemoval) response.writeHead(400).end('{}');
      return isRemoval;
    };
    return () => (qdrant.fault = undefined);
  }

  /** The next attempts, without waiting for their time. */
  async function retry(): Promise<void> {
    await plinth.app
      .get(Database)
      .query('UPDATE vector_removal SET due_at = now() WHERE tenant_id = $1', ['000000']);
    await plinth.app.get(VectorRemovals).retryDue(signal);
  }

  it('are not missed where a deletion waits for the store, which says so and is retried', async () => {
    const complete = await stored();
    const { rows } = done(
      await root.get<{ id: number }[]>(`/system/fragment/list?knowledgeId=${knowledgeId}&idx=1`),
    );
    const allow = refuseRemovals();
    done(await root.delete(`/system/fragment/${rows[0]?.id}`));
    const id = (await attachmentsOf(root, knowledgeId))[0]?.id;
    done(await root.delete(`/system/attach/${id}`));
    expect(await waiting()).toEqual([2, '2']);
    expect(await stored()).toBe(complete);
    expect(logged('Failed to remove vectors; the removal is retried')).toBe(2);
    await retry();
    expect(await waiting()).toEqual([2, '2']);
    expect(logged('Vectors removed')).toBe(0);

    allow();
    await retry();
    expect(await waiting()).toEqual([0, '0']);
    const left = await plinth.app
      .get(Database)
      .query<{ count: number }>(
        'SELECT count(*) AS count FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2 AND NOT edited',
        ['000000', knowledgeId],
      );
    expect(await stored()).toBe(left[0]?.count);
    expect(logged('Vectors removed')).toBe(2);
    expect(logged('Failed to remove vectors; the removal is retried')).toBe(2);
  });

  it('are no longer missed when their document is deleted', async () => {
    const release = holdWrites();
    qdrant.collections.clear();
    await plinth.app.get(VectorReconciliation).reconcile();
    expect(await lostTime()).not.toBeNull();
    for (const { id } of await attachmentsOf(root, knowledgeId)) {
      done(await root.delete(`/system/attach/${id}`));
    }
    expect(await lostTime()).toBeNull();
    release();
  });

  it('of a deleted base are removed in the end, too, though the store refuses at first', async () => {
    const doomed = await createKnowledge(root, { name: 'Doomed', embeddingModel: 'sim-embed-64' });
    await upload(root, doomed, [['doomed.txt', 'It has one fragment.']]);
    await settled(root, doomed);
    const left = () =>
      store().count({ tenantId: '000000', knowledgeId: doomed }, undefined, signal);
    expect(await left()).toBe(1);
    const allow = refuseRemovals();
    done(await root.delete(`/system/info/${doomed}`));
    expect([await left(), (await waiting())[1]]).toEqual([1, '1']);

    allow();
    await retry();
    expect([await left(), (await waiting())[1]]).toEqual([0, '0']);
  });

  describe('of a base in another store', () => {
    const { tenantId } = scope();
    let elsewhere: number;

    const at = (code: string): Promise<number> =>
      byTest(plinth.app.get(VectorStores).configured(code)).count(
        { tenantId, knowledgeId: elsewhere },
        undefined,
        signal,
      );
    const relational = (): string => plinth.app.get(VectorStores).all()[1]?.code ?? '';
    const view = async (): Promise<Record<string, unknown>> =>
      done(await root.get<Record<string, unknown>>(`/system/info/${elsewhere}`)).data;
    const search = async (): Promise<[number, string[], string]> => {
      const body = { knowledgeId: elsewhere, query: 'Where do tulips grow?' };
      const answer = await root.post<{ sourceName: string }[]>('/system/fragment/retrieval', body);
      return [answer.code, answer.data.map(({ sourceName }) => sourceName), answer.msg];
    };
    const reindex = () => root.put('/system/info', { id: elsewhere, reindex: true });
    /** What the records of the base say, as after a start with other settings. */
    const record = (columns: string) =>
      plinth.app
        .get(Database)
        .query(`UPDATE knowledge_base SET ${columns} WHERE tenant_id = $1 AND id = $2`, [
          tenantId,
          elsewhere,
        ]);
    const ready = (status: string, reason: string | undefined) =>
      eventually(
        async () =>
          (await readiness(plinth)).body.checks['vectorStore'] as {
            status: string;
            reason?: string;
          },
        (check) =>
          check.status === status &&
          (reason === undefined ? !check.reason : check.reason?.includes(reason) === true),
      );

    it('stay there after QDRANT_URL was set, until reindex moves them', async () => {
      const base = { name: 'Elsewhere', embeddingModel: 'sim-embed-64', enableHybrid: true };
      elsewhere = await createKnowledge(root, { ...base, vectorModel: relational() });
      await upload(root, elsewhere, [['tulips.txt', 'Tulips grow in Holland.']]);
      await settled(root, elsewhere);
      expect(await view()).toMatchObject({ vectorStore: relational() });
      // As it is for a base without a choice, and for one of an earlier release.
      await record("vector_model = '', vector_store = NULL");

      await plinth.app.get(VectorReconciliation).reconcile();
      expect(await view()).toMatchObject({
        ...{ vectorStore: relational(), storeAfterReindex: 'qdrant', vectorsLostTime: null },
      });
      expect(await search()).toEqual([200, ['tulips.txt'], english(OK_MESSAGE)]);
      await upload(root, elsewhere, [['roses.txt', 'Roses grow in Bulgaria.']]);
      await settled(root, elsewhere);
      expect([await at(relational()), await at('qdrant')]).toEqual([2, 0]);
      await ready('up', 'reindex: true');
      expect((await root.raw('GET', '/metrics')).text).toContain('plinth_bases_in_other_store 1');

      done(await reindex());
      await settled(root, elsewhere);
      expect([await at(relational()), await at('qdrant')]).toEqual([0, 2]);
      expect(await view()).toMatchObject({ vectorStore: 'qdrant', storeAfterReindex: 'qdrant' });
      expect((await search()).slice(0, 2)).toEqual([200, expect.arrayContaining(['tulips.txt'])]);
    });

    it('that are left behind are counted and removed by the reconciliation', async () => {
      const entry = { fragmentId: 1, attachmentId: 1, vector: unitVector(64, 1) };
      const [row] = await attachmentsOf(root, elsewhere);
      const left = { ...entry, attachmentId: row?.id ?? 0 };
      const [store] = plinth.app.get(VectorStores).all().slice(1);
      if (store) await byTest(store).upsert({ tenantId, knowledgeId: elsewhere }, [left], signal);
      expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(1);
      expect([await at(relational()), await at('qdrant')]).toEqual([0, 2]);
    });

    it('that runs no more are not made again until reindex, and words find the fragments', async () => {
      await record("vector_store = 'milvus'");
      expect(await plinth.app.get(VectorReconciliation).reconcile()).toBe(2);
      const [code, names, message] = await search();
      expect([code, names]).toEqual([200, ['tulips.txt', 'roses.txt']]);
      expect(message).toContain('milvus, which this installation does not run');
      await ready('degraded', 'milvus');
      expect(await view()).toMatchObject({ vectorStore: 'milvus', vectorsLostTime: null });
      await upload(root, elsewhere, [['lilies.txt', 'Lilies grow in Japan.']]);
      await eventually(
        async () => (await attachmentsOf(root, elsewhere)).map(({ waitingFor }) => waitingFor),
        (reasons) => reasons.some((reason) => String(reason).includes('milvus')),
      );
      expect(await at('qdrant')).toBe(0);

      done(await reindex());
      const rows = await settled(root, elsewhere);
      expect(rows.map(({ status }) => status)).toEqual([PARSED, PARSED, PARSED]);
      expect(await at('qdrant')).toBe(3);
      // What is in the store that does not run waits for it.
      expect(await view()).toMatchObject({ vectorStore: 'qdrant', vectorRemovals: 1 });
      await ready('up', undefined);
    });
  });
});
