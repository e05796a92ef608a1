import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Diagnosis {
  readonly ok: boolean;
  readonly findings?: readonly string[];
}

const NO_STREAM_OPTIONS = { error: "Extra inputs are not permitted, field: 'stream_options'" };

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
const service = (): { apiHost: string; apiKey: string } => ({
  apiHost: `${simulator.url}/v1`,
  apiKey: 'key',
});

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages']) await createProvider(admin, code);
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

/** The bodies that the service was sent. */
function bodies(): Record<string, unknown>[] {
  return simulator.requests.map(({ body }) => body as Record<string, unknown>);
}

async function tested(id: number): Promise<Diagnosis> {
  return done(await admin.post<Diagnosis>(`/system/model/${id}/test`, {})).data;
}

describe('a parameter that a service refuses by name', () => {
  it('is left out at once, kept for further calls, shown by the test, and forgotten with the address', async () => {
    const modelName = 'refuses--chunks-2';
    const id = await createModel(admin, { ...service(), modelName });
    expect((await tested(id)).findings).toBeUndefined();
    simulator.reset();
    simulator.script({ status: 400, body: NO_STREAM_OPTIONS });
    const reply = await sendChat(admin, { content: 'Hello', model: modelName });
    expect(reply.error).toBeUndefined();
    expect(reply.text).toBe('tok0 tok1 ');
    expect(bodies().map((body) => 'stream_options' in body)).toEqual([true, false]);
    simulator.reset();
    await sendChat(admin, { content: 'Again', model: modelName });
    expect(bodies().map((body) => 'stream_options' in body)).toEqual([false]);
    expect(await tested(id)).toMatchObject({
      ok: true,
      findings: ['stream_options is left out: the service refuses it.'],
    });
    done(await admin.put('/system/model', { id, apiHost: `${simulator.url}/other/v1` }));
    expect((await tested(id)).findings).toBeUndefined();
  });

  it('is found by the test of a model itself', async () => {
    const id = await createModel(admin, {
      ...{ ...service(), modelName: 'sim-newer', maxOutput: 100 },
    });
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const error = { message, param: 'max_tokens', code: 'unsupported_parameter' };
    simulator.script({ status: 400, body: { error } });
    expect(await tested(id)).toMatchObject({
      ok: true,
      findings: ['max_tokens is sent as max_completion_tokens: the service refuses it.'],
    });
    expect(bodies().at(-1)).toMatchObject({ max_completion_tokens: 100 });
  });

  it('is left out of relayed requests and of embeddings', async () => {
    const key = await makeKey(admin, { permissions: ['chat:chat:use'] });
    const client = withKey(admin, key);
    await createModel(admin, { ...service(), modelName: 'relayed--chunks-2' });
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ];
    simulator.script(
      { status: 400, body: { error: { message: "property 'temperature' is unsupported" } } },
      { status: 400, body: { error: { message: 'Unexpected message role.' } } },
    );
    const asked = { model: 'relayed--chunks-2', messages, temperature: 0.2 };
    const answer = await client.raw('POST', '/v1/chat/completions', asked);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('tok0 tok1')]);
    expect(bodies()).toHaveLength(3);
    expect(bodies().at(-1)).toMatchObject({ messages: [{ role: 'system' }, { role: 'user' }] });
    expect(bodies().at(-1)).not.toHaveProperty('temperature');
    simulator.reset();
    const vector = { category: 'vector', modelDimension: 8, modelName: 'sim-embed-8' };
    await createModel(admin, { ...service(), ...vector });
    simulator.script({
      status: 400,
      body: { detail: "Value 'float' supplied for argument 'encoding_format' is not valid." },
    });
    const embedded = await client.raw('POST', '/v1/embeddings', {
      ...{ model: 'sim-embed-8', input: 'Hello' },
    });
    expect(embedded.status).toBe(200);
    expect(bodies().map((body) => 'encoding_format' in body)).toEqual([true, false]);
  });

  it('ends the call where leaving it out would change what was asked', async () => {
    const client = withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] }));
    await createModel(admin, { ...service(), modelName: 'strict--chunks-2' });
    const message = "Unsupported parameter: 'stop' is not supported with this model.";
    simulator.script({ status: 400, body: { error: { message, param: 'stop' } }, times: 2 });
    const answer = await client.raw('POST', '/v1/chat/completions', {
      model: 'strict--chunks-2',
      messages: [{ role: 'user', content: 'Hello' }],
      stop: ['x'],
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("'stop' is not supported");
    expect(bodies()).toHaveLength(1);
  });

  it('is one attempt in the usage ledger', async () => {
    const modelName = 'recorded--chunks-2';
    await createModel(admin, { ...service(), modelName });
    simulator.script({ status: 400, body: NO_STREAM_OPTIONS });
    await sendChat(admin, { content: 'Hello', model: modelName });
    await plinth.app.get(UsageLedger, { strict: false }).flush();
    const rows = await plinth.app
      .get(Database, { strict: false })
      .query('SELECT outcome FROM upstream_call WHERE tenant_id = $1 AND model_name = $2', [
        '000000',
        modelName,
      ]);
    expect(rows).toEqual([{ outcome: 'ok' }]);
  });
});

describe('an answer of the messages protocol', () => {
  it('is not asked to be longer than the window has room for', async () => {
    const small = { ...service(), providerCode: 'custom_messages', contextWindow: 2_048 };
    await createModel(admin, { ...small, modelName: 'small--chunks-2' });
    await sendChat(admin, { content: 'Hello', model: 'small--chunks-2' });
    const [body] = bodies();
    expect(body?.['max_tokens']).toBeGreaterThan(500);
    expect(body?.['max_tokens']).toBeLessThanOrEqual(1_024);
    const short = { ...small, maxOutput: 256, modelName: 'short--chunks-2' };
    await createModel(admin, short);
    await sendChat(admin, { content: 'Hello', model: short.modelName });
    expect(bodies().at(-1)).toMatchObject({ max_tokens: 256 });
  });
});
