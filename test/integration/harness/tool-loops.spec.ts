import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { createModel, createProvider } from '../../support/models.js';
import { toolResults } from '../../support/scripted-model.js';
import {
  readFiles,
  startStrictUpstreams,
  STRICT_SERVICES,
} from '../../support/strict-upstreams.js';
import type { StrictService, StrictUpstreams } from '../../support/strict-upstreams.js';

/**
 * A run with a tool on models that think and that refuse a turn which lacks what they sent before
 * (test/support/strict-upstreams.ts).
 */
const SERVICES = Object.keys(STRICT_SERVICES) as StrictService[];

let upstreams: StrictUpstreams;
let harness: Harness;

beforeAll(async () => {
  upstreams = await startStrictUpstreams(readFiles('README.md', 'package.json', 'src/add.js'));
  harness = await startHarness();
  const codes = new Set(SERVICES.map((service) => STRICT_SERVICES[service].providerCode));
  codes.delete('custom_api');
  for (const code of codes) await createProvider(harness.session, code);
  for (const service of SERVICES) {
    const { providerCode, path } = STRICT_SERVICES[service];
    const fields = { modelName: service, apiHost: upstreams.url + path, apiKey: `key-${service}` };
    const able = { contextWindow: 100_000, supportsTools: true };
    await createModel(harness.session, { ...fields, ...able, providerCode });
  }
});

afterEach(() => upstreams.reset());

afterAll(async () => {
  await harness.stop();
  await upstreams.stop();
});

it.each(SERVICES)('reads three files with a thinking model of %s', async (model) => {
  const { sessionId } = await harness.createSession({ model });
  const run = await harness.ended(await harness.createRun(sessionId));

  expect(run).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN', error: null });
  const results = await toolResults(harness, run);
  expect(results.map(({ toolError }) => toolError)).toEqual([false, false, false]);
  expect(results[2]?.content).toContain('export function add');
  expect(upstreams.refusals).toEqual([]);
  expect(upstreams.calls).toHaveLength(4);
  const texts = (await harness.messages(run)).filter(({ role }) => role === 'ASSISTANT');
  expect(texts.at(-1)?.['content']).toContain('The tool says: ');
});
