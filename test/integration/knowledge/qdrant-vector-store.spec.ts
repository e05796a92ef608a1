import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Dependency } from '../../../src/platform/dependency/index.js';
import { UnavailableError } from '../../../src/platform/error/index.js';
import { VectorStoreError } from '../../../src/vector-store/index.js';
import { QdrantVectorStore } from '../../../src/vector-store/qdrant/qdrant.vector-store.js';
import type { VectorInstallation } from '../../../src/vector-store/qdrant/qdrant.collections.js';
import type { QdrantSettings } from '../../../src/vector-store/qdrant/qdrant.vector-store.js';
import { INSTALLATION } from '../../support/qdrant/installation.js';
import { QdrantStandIn } from '../../support/qdrant/qdrant-stand-in.js';
import { unitVector } from '../../support/vectors/unit-vector.js';
import { eventually } from '../../support/wait.js';

const { signal } = new AbortController();
const scope = { tenantId: '000000', knowledgeId: 1 };
const entry = { fragmentId: 7, attachmentId: 3, vector: unitVector(4, 1) };
const query = { vector: unitVector(4, 1), limit: 5 };

// What goes wrong here is meant to, and its log lines say nothing new.
Logger.overrideLogger(false);

let qdrant: QdrantStandIn;

beforeEach(async () => {
  qdrant = await QdrantStandIn.start();
});

afterEach(async () => {
  for (const dependency of dependencies.splice(0)) dependency.close();
  await qdrant.stop();
});

const dependencies: Dependency[] = [];

function open(
  settings: Partial<QdrantSettings> = {},
  installation: Partial<VectorInstallation> = {},
): QdrantVectorStore {
  const dependency = new Dependency('vectorStore');
  dependencies.push(dependency);
  const all = { url: qdrant.url, prefix: 'mine', timeoutMs: 5_000, ...settings };
  return new QdrantVectorStore(all, { ...INSTALLATION, ...installation }, dependency);
}

const AWAY = 'The vector store is not available at the moment. Try again in a few seconds.';

function unavailable(response: ServerResponse): void {
  response.writeHead(503).end('busy');
}

/** Misbehaves for the first requests of the path, then no more. */
function failing(path: string, times: number, behave: (response: ServerResponse) => void): void {
  let left = times;
  qdrant.fault = (asked, response) => {
    if (asked.path !== path || left === 0) return false;
    left -= 1;
    behave(response);
    return true;
  };
}

const timesAsked = (path: string): number =>
  qdrant.asked.filter((asked) => asked.path === path).length;

describe('the collections in Qdrant', () => {
  it('are one for each dimension, laid out for many tenants and indexed', async () => {
    const store = open();
    await store.upsert(
      scope,
      [entry, { ...entry, fragmentId: 8, vector: unitVector(6, 1) }],
      signal,
    );
    await open().upsert(scope, [entry], signal);

    expect([...qdrant.collections.keys()]).toEqual(['mine_4', 'mine_6']);
    const made = qdrant.collections.get('mine_4');
    expect(made?.settings).toEqual({
      vectors: { size: 4, distance: 'Cosine' },
      hnsw_config: { m: 0, payload_m: 16, full_scan_threshold: 400_000 },
    });
    const fields = new Map(made?.indexes.map((index) => [index.field_name, index.field_schema]));
    expect(Object.fromEntries(fields)).toEqual({
      tenantId: { type: 'keyword', is_tenant: true },
      knowledgeId: { type: 'integer', lookup: true, range: false },
      attachmentId: { type: 'integer', lookup: true, range: false },
    });
    expect(qdrant.wrong).toEqual([]);
  });

  it('are those of this installation alone', async () => {
    const [mine, theirs] = [open(), open({ prefix: 'mine_too' })];
    await mine.upsert(scope, [entry], signal);
    await theirs.upsert(scope, [entry], signal);
    await mine.removeTenant(scope.tenantId, signal);

    expect(await mine.scopes(signal)).toEqual([]);
    expect(await theirs.scopes(signal)).toEqual([{ ...scope, count: 1 }]);
  });

  it('are made by whichever of two processes comes first', async () => {
    await Promise.all([
      open().upsert(scope, [entry], signal),
      open().upsert(scope, [entry], signal),
    ]);
    expect(await open().count(scope, undefined, signal)).toBe(1);
  });

  it('are made anew when somebody has removed them', async () => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    qdrant.collections.clear();
    expect(await store.search(scope, query, signal)).toEqual([]);
    await store.upsert(scope, [entry], signal);
    expect(await store.search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
    expect(qdrant.collections.get('mine_4')?.indexes).toHaveLength(3);
  });
});

describe('a collection of another installation', () => {
  const FOREIGN = 'The collections in Qdrant belong to another installation.';
  const OTHER = '018f6a2e-0000-7000-8000-000000000002';
  const markerOf = (name: string): string | undefined =>
    qdrant.collections.get(name)?.marker?.payload.installation;

  it('is not read, written or removed from, and readiness can say why', async () => {
    await open().upsert(scope, [entry], signal);
    const theirs = open({}, { id: OTHER });
    for (const call of [
      theirs.search(scope, query, signal),
      theirs.upsert(scope, [entry], signal),
      theirs.removeTenant(scope.tenantId, signal),
      theirs.scopes(signal),
    ]) {
      await expect(call).rejects.toThrow(FOREIGN);
    }
    expect(dependencies[1]).toMatchObject({
      isUp: false,
      reason: { template: expect.stringContaining(FOREIGN) },
    });
    expect(await open().search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
    expect(markerOf('mine_4')).toBe(INSTALLATION.id);
  });

  it('is found out before a removal, also by a process that has used it', async () => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    const marker = qdrant.collections.get('mine_4')?.marker;
    if (marker) marker.payload.installation = OTHER;
    await expect(store.removeAttachment(scope, 3, signal)).rejects.toThrow(FOREIGN);
    expect(qdrant.collections.get('mine_4')?.size).toBe(1);
  });

  it('is taken over by the one whose INSTALLATION_RENEW names it', async () => {
    await open().upsert(scope, [entry], signal);
    const heir = open({}, { id: OTHER, takesOver: INSTALLATION.id });
    expect(await heir.search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
    expect(markerOf('mine_4')).toBe(OTHER);
  });

  it.each([
    ['has no vectors', 0, 0, true],
    ['has vectors of this database', 4, 3, true],
    ['has vectors of another database', 4, 1, false],
  ])('without a marker that %s', async (_, vectors, known, isTaken) => {
    await open().upsert(scope, [entry], signal);
    const collection = qdrant.collections.get('mine_4');
    await open().removeKnowledge(scope, signal);
    const fragments = Array.from({ length: vectors }, (__, at) => ({
      ...entry,
      fragmentId: at + 1,
    }));
    if (vectors > 0) await open().upsert(scope, fragments, signal);
    if (collection) collection.marker = undefined;
    const store = open({}, { id: OTHER, countKnown: () => Promise.resolve(known) });
    const removal = store.removeKnowledge(scope, signal);
    if (isTaken) await removal;
    else await expect(removal).rejects.toThrow(FOREIGN);
    expect([markerOf('mine_4'), collection?.size]).toEqual(
      isTaken ? [OTHER, 0] : [undefined, vectors],
    );
  });
});

describe('a request to Qdrant', () => {
  it('asks for no compression, which would delay each answer by 40 ms', async () => {
    await open().upsert(scope, [entry], signal);
    expect(new Set(qdrant.asked.map(({ encoding }) => encoding))).toEqual(new Set(['identity']));
  });

  it('in flight ends when a probe finds that the server has frozen', async () => {
    const store = open({ timeoutMs: 600_000 });
    await store.upsert(scope, [entry], signal);
    qdrant.fault = () => true;
    const search = store.search(scope, query, signal);
    void dependencies[0]?.check();
    await expect(search).rejects.toThrow(AWAY);
    await expect(store.search(scope, query, signal)).rejects.toThrow(AWAY);
  });

  it('of which the disk is full is refused until there is room again, and searches go on', async () => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    qdrant.fault = ({ method, path }, response) => {
      const isWrite = method === 'PUT' && path.endsWith('/points');
      const error =
        'Service internal error: No space left on device: WAL buffer size exceeds available disk space';
      if (isWrite)
        response
          .writeHead(500, { 'content-type': 'application/json' })
          .end(JSON.stringify({ status: { error }, time: 0 }));
      return isWrite;
    };
    const write = store.upsert(scope, [entry], signal);
    await expect(write).rejects.toThrow(UnavailableError);
    await expect(write).rejects.toThrow('The disk of Qdrant is full');
    expect(await store.search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
    await dependencies[0]?.check();
    expect([dependencies[0]?.isUp, dependencies[0]?.isLimited]).toEqual([true, true]);
    qdrant.fault = undefined;
    await eventually(
      () => dependencies[0]?.isLimited,
      (limited) => limited === false,
    );
    await store.upsert(scope, [entry], signal);
  });

  it('with a wrong key counts as an outage, which a probe finds before any request', async () => {
    qdrant.apiKey = 'the right key';
    open({ apiKey: 'another key' });
    await eventually(
      () => dependencies[0]?.reason,
      (reason) => reason?.template.startsWith('Qdrant refuses the key.') ?? false,
    );
    qdrant.apiKey = 'another key';
    await eventually(
      () => dependencies[0]?.isUp,
      (up) => up === true,
    );
  });

  it.each([
    ['is not ready', unavailable],
    ['closes the connection', (response: ServerResponse) => response.destroy()],
    ['asks for patience', (response: ServerResponse) => response.writeHead(429).end('{}')],
  ])('is sent again when the server %s', async (_, behave) => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    failing('/collections/mine_4/points/query', 2, behave);

    expect(await store.search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
    expect(timesAsked('/collections/mine_4/points/query')).toBe(3);
  });

  it('fails when the server stays away, then at once, and succeeds when it is back', async () => {
    const store = open();
    const everything = (_: unknown, response: ServerResponse): boolean => {
      unavailable(response);
      return true;
    };
    qdrant.fault = everything;
    const search = store.search(scope, query, signal);
    await expect(search).rejects.toThrow(UnavailableError);
    await expect(search).rejects.toThrow(AWAY);
    expect(qdrant.asked.length).toBeGreaterThan(0);
    const asked = timesAsked('/');
    await expect(store.upsert(scope, [entry], signal)).rejects.toThrow(AWAY);
    expect(timesAsked('/')).toBe(asked);

    qdrant.fault = undefined;
    await eventually(
      () => dependencies[0]?.isUp,
      (up) => up === true,
    );
    expect(await store.search(scope, query, signal)).toEqual([]);
  });

  it('that the server fails to answer is not an outage', async () => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    failing('/collections/mine_4/points/query', 4, (response) => response.writeHead(500).end('{}'));
    await expect(store.search(scope, query, signal)).rejects.toThrow(VectorStoreError);
    expect(dependencies[0]?.isUp).toBe(true);
    expect(await store.search(scope, query, signal)).toMatchObject([{ fragmentId: 7 }]);
  });

  it('is not sent again after its time has passed', async () => {
    const store = open({ timeoutMs: 1_000 });
    failing('/collections/mine_4/points/query', 9, () => undefined);

    await expect(store.search(scope, query, signal)).rejects.toThrow(AWAY);
    expect(timesAsked('/collections/mine_4/points/query')).toBe(1);
  });

  it('is given up when nobody waits for it any more', async () => {
    const store = open();
    const reason = new Error('nobody waits any more');
    const leaving = new AbortController();
    let closed: Promise<void> = Promise.resolve();
    failing('/collections/mine_4/points/query', 1, (response) => {
      closed = new Promise((resolve) => response.once('close', resolve));
      leaving.abort(reason);
    });

    await expect(store.search(scope, query, leaving.signal)).rejects.toBe(reason);
    await closed;
  });

  it('carries the key, and a wrong one is told plainly and not tried again', async () => {
    qdrant.apiKey = 'the right key';
    await open({ apiKey: 'the right key' }).upsert(scope, [entry], signal);
    const before = timesAsked('/');
    const wrong = open({ apiKey: 'another key' }).upsert(scope, [entry], signal);

    await expect(wrong).rejects.toThrow(
      'Qdrant refuses the key. Ask an administrator to check QDRANT_API_KEY.',
    );
    expect(timesAsked('/')).toBeLessThanOrEqual(before + 1);
  });

  it('that the server finds wrong is not sent again', async () => {
    const store = open();
    await store.upsert(scope, [entry], signal);
    failing('/collections/mine_4/points/query', 9, (response) => response.writeHead(400).end('{}'));

    await expect(store.search(scope, query, signal)).rejects.toThrow(
      'Qdrant refuses the request (HTTP 400).',
    );
    expect(timesAsked('/collections/mine_4/points/query')).toBe(1);
  });

  it('keeps to a path below which the server is', async () => {
    qdrant.fault = ({ path }, response) => {
      response.end('{"version":"1.17.1","result":{"collections":[]}}');
      return path.startsWith('/vectors/');
    };
    await open({ url: `${qdrant.url}/vectors/` }).scopes(signal);
    const asked = qdrant.asked.map(({ path }) => path);
    expect(asked).toContain('/vectors/');
    expect(asked).toContain('/vectors/collections');
    expect(asked.every((path) => path.startsWith('/vectors/'))).toBe(true);
  });
});

describe('the version of Qdrant', () => {
  it.each(['1.15.0', '1.19.2', '1.16.0-dev', '2.0.0'])('%s is taken', async (version) => {
    qdrant.version = version;
    const store = open();
    expect(await store.scopes(signal)).toEqual([]);
    await store.scopes(signal);
    expect(timesAsked('/')).toBe(1);
  });

  it.each(['1.14.1', '0.99.0'])('%s is too old, which every call says', async (version) => {
    qdrant.version = version;
    const store = open();
    for (const call of [store.scopes(signal), store.upsert(scope, [entry], signal)]) {
      await expect(call).rejects.toThrow(
        `The vector store is Qdrant ${version}, but 1.15 or newer is required.`,
      );
    }
    expect([...qdrant.collections.keys()]).toEqual([]);
  });

  it('is asked of a server that is no Qdrant, which is told plainly', async () => {
    failing('/', 1, (response) => response.end('<html>Welcome</html>'));
    await expect(open().scopes(signal)).rejects.toThrow(
      'The server at QDRANT_URL is not Qdrant. Ask an administrator to check the address.',
    );
  });
});
