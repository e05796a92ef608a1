import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiError, createPlinth } from '@plinth/client';
import type { ChatEvent, Plinth as PlinthClient } from '@plinth/client';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { readWorkbook } from '../../../src/platform/http/index.js';
import { Plinth } from '../../support/plinth.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from '../../support/template.js';

let plinth: Plinth;
let simulator: Simulator;
let client: PlinthClient;
let token: string | undefined;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  client = createPlinth({ baseUrl: plinth.url, token: () => token, clientId: () => FULL_CLIENT });
  const { access_token } = await client.authLogin({
    body: {
      tenantId: '000000',
      username: 'admin',
      password: ADMIN_PASSWORD,
      grantType: 'password',
      clientId: FULL_CLIENT,
    },
  });
  token = access_token;
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

describe('the client package against the service', () => {
  it('creates, lists and exports models', async () => {
    await client.providerCreate({ body: { providerName: 'Client', providerCode: 'custom_api' } });
    const created = await client.modelCreate({
      body: {
        providerCode: 'custom_api',
        category: 'chat',
        modelName: 'demo-chat',
        apiHost: simulator.url,
        apiKey: 'sk-client',
      },
    });

    const { rows, total } = await client.modelList({
      query: { pageSize: 20, modelName: 'demo-chat' },
    });

    expect(total).toBe(1);
    expect(rows[0]?.id).toBe(created.id);
    const file = await client.modelExport({ body: { modelName: 'demo-chat' } });
    expect(file.name).toMatch(/\.xlsx$/);
    expect(file.size).toBeGreaterThan(1_000);
  });

  it('lists and exports the users of a period', async () => {
    const seen = [{ endTime: '2000-01-01' }, { beginTime: '2000-01-01' }].map(async (params) => {
      const { total } = await client.userList({ query: { params } });
      const file = await client.userExport({ body: { params } });
      const [, ...rows] = await readWorkbook(Buffer.from(await file.arrayBuffer()));
      return { listed: total, exported: rows.length };
    });

    expect(await Promise.all(seen)).toEqual([
      { listed: 0, exported: 0 },
      { listed: 1, exported: 1 },
    ]);
  });

  it('throws a refusal with its request id', async () => {
    const refused = client.modelCreate({
      body: { modelName: '', providerCode: 'x', category: 'chat' },
    });

    const error: unknown = await refused.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 400, status: 200, requestId: expect.any(String) });
  });

  it('streams the answer of a chat', async () => {
    const sessionId = await client.sessionCreate({ body: { sessionTitle: 'By the client' } });
    const events: ChatEvent[] = [];
    for await (const event of client.streamChat({
      content: 'Say hello',
      model: 'demo-chat',
      sessionId: Number(sessionId),
    })) {
      events.push(event);
    }

    expect(events.some(({ event }) => event === 'content')).toBe(true);
    expect(events.at(-1)).toMatchObject({ event: 'done', done: true });
    expect(await client.chatStop({ path: { sessionId: Number(sessionId) } })).toEqual({
      stopped: false,
    });
  });

  it('throws the failure of a turn', async () => {
    const failing = (async () => {
      for await (const { event } of client.streamChat({ content: 'Hi', model: 'no-such-model' })) {
        expect(event).not.toBe('done');
      }
    })();

    await expect(failing).rejects.toMatchObject({
      message: expect.stringContaining('no-such-model'),
      code: 404,
    });
  });

  it('uploads documents, and imports a test set for them', async () => {
    await client.knowledgeCreate({ body: { name: 'Manuals' } });
    const bases = await client.knowledgeList({ query: { name: 'Manuals' } });
    const knowledgeId = Number(bases.rows[0]?.id);

    const outcomes = await client.uploadDocuments({
      knowledgeId,
      file: [new File(['One year.'], 'warranty.txt'), new File(['Two days.'], 'delivery.txt')],
      autoParse: false,
    });

    expect(outcomes).toHaveLength(2);
    const { total } = await client.attachList({ query: { knowledgeId } });
    expect(total).toBe(2);

    const imported = await client.testSetImport({
      path: { knowledgeId },
      body: {
        queries: '{"_id": "q1", "text": "How long is the warranty?"}',
        qrels: 'query-id\tcorpus-id\tscore\nq1\twarranty\t1',
      },
    });
    expect(imported).toMatchObject({ added: 1, unknown: 0 });
  });
});
