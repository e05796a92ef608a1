import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canary } from '../../support/canary.js';
import { Plinth } from '../../support/plinth.js';
import { eventually } from '../../support/wait.js';

const apiKey = canary.plant('qdrant');
const asked: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end();
let plinth: Plinth;

/** Stands in for Qdrant, of which the check needs one route. */
const qdrant = createServer((request, response) => {
  asked.push({ url: request.url, headers: request.headers });
  answer(response);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => qdrant.listen(0, '127.0.0.1', resolve));
  const { port } = qdrant.address() as AddressInfo;
  plinth = await Plinth.start({
    QDRANT_URL: `http://127.0.0.1:${port}`,
    QDRANT_API_KEY: apiKey,
  });
});

afterAll(async () => {
  await plinth.stop();
  qdrant.close();
  qdrant.closeAllConnections();
});

async function ready(): Promise<{ status: number; body: unknown; text: string }> {
  const { status, text } = await plinth.anonymous().raw('GET', '/health/ready');
  return { status, body: JSON.parse(text), text };
}

/** A check may share a probe that began before the server changed. */
const isReady = () => eventually(ready, ({ body }) => (body as { status: string }).status === 'up');

describe('a vector store of its own', () => {
  it('is asked with its key', async () => {
    answer = (response) => response.end('all shards are ready');

    expect(await ready()).toMatchObject({
      status: 200,
      body: {
        status: 'up',
        checks: { vectorStore: { status: 'up', kind: 'qdrant', latencyMs: expect.any(Number) } },
      },
    });
    for (const url of ['/readyz', '/collections']) {
      expect(asked).toContainEqual(
        expect.objectContaining({ url, headers: expect.objectContaining({ 'api-key': apiKey }) }),
      );
    }
  });

  it.each([
    ['is not ready', (response: ServerResponse) => response.writeHead(503).end('not yet')],
    ['closes the connection', (response: ServerResponse) => response.destroy()],
    ['does not answer in time', () => undefined],
  ])('that %s leaves the process in service, and shows no cause or address', async (_, behave) => {
    answer = behave;
    const { status, body, text } = await ready();

    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'degraded',
      checks: { store: { status: 'up' }, vectorStore: { status: 'degraded', kind: 'qdrant' } },
    });
    expect(text).not.toContain('127.0.0.1');
    expect(text).not.toContain('not yet');
  });

  it('leaves one line in the log when it goes, and one when it is back', async () => {
    answer = (response) => response.end();
    await isReady();
    const before = plinth.log.length;
    answer = (response) => response.writeHead(503).end();
    await eventually(ready, ({ body }) => (body as { status: string }).status === 'degraded');
    await Promise.all([ready(), ready()]);
    answer = (response) => response.end();
    await isReady();

    const lines = plinth.log
      .slice(before)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['context'] === 'Dependencies');
    expect(lines).toMatchObject([
      {
        level: 'warn',
        msg: 'Dependency unavailable',
        check: 'vectorStore',
        err: { message: 'Qdrant answered HTTP 503.' },
      },
      { level: 'info', msg: 'Dependency recovered', check: 'vectorStore' },
    ]);
  });
});
