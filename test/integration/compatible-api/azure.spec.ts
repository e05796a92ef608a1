import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { AzureOpenAI, toFile } from 'openai';
import type { AzureClientOptions } from 'openai';
import { makeKey } from '../../support/api-keys.js';
import {
  closeCompatibleApi,
  failureOf,
  openCompatibleApi,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createModel } from '../../support/models.js';
import { Session } from '../../support/session.js';

// Azure's own client, and requests as its REST reference has them (learn.microsoft.com, November 2026).

const messages = [{ role: 'user', content: 'What is new?' }] as const;
const VERSION = '2024-10-21';

let world: CompatibleApi;
let key: string;
let azure: AzureOpenAI;

beforeAll(async () => {
  world = await openCompatibleApi();
  const service = { apiHost: `${world.simulator.url}/v1`, apiKey: SERVICE_KEY };
  await createModel(world.admin, { ...service, modelName: 'team/sim-chat' });
  const whisper = { modelName: 'whisper', category: 'transcription' };
  await createModel(world.admin, { ...service, ...whisper });
  await createModel(world.admin, { ...service, modelName: 'painter', category: 'image' });
  const permissions = ['chat:chat:use', 'media:media:use'];
  ({ key } = await makeKey(world.admin, { permissions, doors: ['v1'] }));
  azure = client();
});

afterEach(() => world.simulator.reset());

afterAll(() => closeCompatibleApi(world));

function client(options: AzureClientOptions = {}): AzureOpenAI {
  const endpoint = world.plinth.url;
  return new AzureOpenAI({ endpoint, apiKey: key, apiVersion: VERSION, maxRetries: 0, ...options });
}

/** A second of silence. */
function wave(): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(44 + 16_000);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt32LE(16_000, 28);
  return bytes;
}

/** A request by its key alone. */
function program(headers: Record<string, string> = { 'api-key': key }): Session {
  return new Session(world.plinth.url, headers);
}

describe('the client of Azure', () => {
  it('completes a conversation, whole and as a stream', async () => {
    const answer = await azure.chat.completions.create({
      model: 'sim-chat',
      messages: [...messages],
    });
    expect(answer).toMatchObject({ object: 'chat.completion', model: 'sim-chat' });
    expect(answer.choices[0]?.message.content).not.toBe('');

    const stream = await client({ deployment: 'sim-messages' }).chat.completions.create({
      ...{ model: '', messages: [...messages], stream: true },
    });
    let text = '';
    for await (const { model, choices } of stream) {
      expect(model).toBe('sim-messages');
      text += choices[0]?.delta.content ?? '';
    }
    expect(text).not.toBe('');
  });

  it('embeds texts, stores responses and lists models', async () => {
    const { data } = await azure.embeddings.create({ model: 'sim-embed-64', input: ['a', 'b'] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64]);

    const made = await azure.responses.create({ model: 'sim-chat', input: 'What is new?' });
    expect(await azure.responses.retrieve(made.id)).toMatchObject({ id: made.id });

    const listed = await azure.models.list();
    expect(listed.data.map(({ id }) => id)).toContain('sim-chat');
  });

  it('has sound written down and images drawn', async () => {
    const file = await toFile(wave(), 'a.wav', { type: 'audio/wav' });
    const { text } = await azure.audio.transcriptions.create({ model: 'whisper', file });
    expect(text).toContain('16044 bytes of audio/wav');
    const { data } = await azure.images.generate({ model: 'painter', prompt: 'A house' });
    expect(data).toHaveLength(1);
  });

  it('gets failures in the form of OpenAI', async () => {
    const unknown = azure.chat.completions.create({ model: 'gone', messages: [...messages] });
    expect(await failureOf(OpenAI.NotFoundError, unknown)).toMatchObject({
      ...{ status: 404, code: 'model_not_found', param: 'model' },
    });
    const keyless = client({ apiKey: 'sk-plinth-none' }).models.list();
    expect(await failureOf(OpenAI.AuthenticationError, keyless)).toMatchObject({
      ...{ status: 401, code: 'invalid_api_key' },
    });
  });
});

describe('the client of OpenAI at the newer interface', () => {
  it.each([{}, { 'api-version': 'preview' }])('completes a conversation with %j', async (query) => {
    const openAi = new OpenAI({
      baseURL: `${world.plinth.url}/openai/v1/`,
      apiKey: key,
      defaultQuery: query,
    });
    const answer = await openAi.chat.completions.create({
      model: 'sim-chat',
      messages: [...messages],
    });
    expect(answer.model).toBe('sim-chat');
  });
});

describe('a path of Azure', () => {
  const deployment = `/openai/deployments/sim-chat/chat/completions?api-version=${VERSION}`;

  it('names the model, whatever the body names', async () => {
    for (const model of [undefined, 'gone']) {
      const { status, text } = await program().raw('POST', deployment, { model, messages });
      expect([status, JSON.parse(text)]).toMatchObject([200, { model: 'sim-chat' }]);
    }
  });

  it.each(['team/sim-chat', 'team%2Fsim-chat'])('takes %s as a name', async (name) => {
    const path = `/openai/deployments/${name}/chat/completions?api-version=${VERSION}`;
    const { status, text } = await program().raw('POST', path, { messages });
    expect([status, JSON.parse(text)]).toMatchObject([200, { model: 'team/sim-chat' }]);
  });

  it.each([undefined, 'gone'])('names the model of a form that names %s', async (model) => {
    const form = new FormData();
    form.append('file', new Blob([wave()], { type: 'audio/wav' }), 'a.wav');
    if (model !== undefined) form.append('model', model);
    const path = `/openai/deployments/whisper/audio/transcriptions?api-version=${VERSION}`;
    const answer = await fetch(world.plinth.url + path, {
      ...{ method: 'POST', headers: { 'api-key': key }, body: form },
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { text: expect.stringContaining('16044 bytes of audio/wav') },
    ]);
  });

  it('is held to the permissions of the route that it stands for', async () => {
    const { key: other } = await makeKey(world.admin, { permissions: ['media:media:use'] });
    const { status, text } = await program({ 'api-key': other }).raw('POST', deployment, {
      messages,
    });
    expect([status, JSON.parse(text)]).toMatchObject([
      403,
      { error: { type: 'permission_error' } },
    ]);
    const { key: rest } = await makeKey(world.admin, {
      ...{ permissions: ['chat:chat:use'], doors: ['rest'] },
    });
    expect(await program({ 'api-key': rest }).raw('POST', deployment, { messages })).toMatchObject({
      status: 403,
    });
  });

  it('takes the key from no address', async () => {
    const { status } = await program({}).raw('POST', `${deployment}&api-key=${key}`, { messages });
    expect(status).toBe(401);
  });

  it.each([
    ['POST', '/openai/v1/nothing', 404, 'There is no POST /openai/v1/nothing.'],
    ['POST', '/openai/deployments/sim-chat/nothing', 404, 'Add /v1'],
    ['POST', '/openai/models', 404, 'Add /v1'],
    ['GET', deployment, 405, '/openai/deployments/sim-chat/chat/completions does not take GET.'],
    ['POST', '/openai/v1/messages', 404, 'Add /v1'],
  ] as const)('%s %s is answered with %i', async (method, path, status, part) => {
    const answer = await program().raw(method, path, method === 'GET' ? undefined : {});
    const { error } = JSON.parse(answer.text) as { error: { message: string } };
    expect(answer.status).toBe(status);
    expect(error.message).toContain(part);
  });
});
