import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI, { toFile } from 'openai';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const KEY = 'sk-key-of-transcription';
const TEXT = 'Heard 48044 bytes of audio/wav';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'media_async']) await createProvider(admin, code);
  const fields = { category: 'transcription', apiKey: KEY, apiHost: `${simulator.url}/v1` };
  for (const modelName of [
    'whisper',
    'gpt-4o-transcribe',
    'voxtral-mini',
    'vllm-whisper',
    'silent-usage',
  ]) {
    await createModel(admin, { ...fields, modelName, secondPrice: 0.0001 });
  }
  await createModel(admin, { ...fields, modelName: 'gpt-4o--error-2' });
  await createModel(admin, { ...fields, modelName: 'gpt-4o--cut-2' });
  await createModel(admin, { ...fields, modelName: 'other-service', providerCode: 'media_async' });
  client = await clientWith(['media:media:use']);
});

beforeEach(() => simulator.reset());

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function clientWith(permissions: readonly string[]): Promise<OpenAI> {
  const { headers } = withKey(admin, await makeKey(admin, { permissions }));
  const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
  return new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });
}

/** Three seconds of silence, 16,000 bytes a second. */
function sound(bytes = wave(), name = 'private name.wav'): ReturnType<typeof toFile> {
  return toFile(bytes, name);
}

function wave(): Buffer {
  const bytes = Buffer.alloc(44 + 3 * 16_000);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt32LE(16_000, 28);
  return bytes;
}

/** The newest row of the usage ledger. */
async function lastCall(): Promise<unknown> {
  await plinth.app.get(UsageLedger, { strict: false }).flush();
  const sql = `SELECT kind, outcome, seconds::float8 AS seconds, input_tokens::integer AS input, output_tokens::integer AS output,
            cost::float8 AS cost FROM upstream_call ORDER BY call_time DESC LIMIT 1`;
  const database = plinth.app.get(Database);
  const [row] = await acrossTenants('a test', () => database.query<unknown>(sql));
  return row;
}

async function failure(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`Not refused: ${String(error)}`);
  return error;
}

async function eventsOf(model: string): Promise<readonly OpenAI.Audio.TranscriptionStreamEvent[]> {
  const stream = await client.audio.transcriptions.create({
    model,
    file: await sound(),
    stream: true,
  });
  const events: OpenAI.Audio.TranscriptionStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe('POST /v1/audio/transcriptions', () => {
  it('answers JSON with what the service says of its use', async () => {
    const made = await client.audio.transcriptions.create({
      model: 'whisper',
      file: await sound(),
    });

    expect(made).toEqual({ text: TEXT, usage: { type: 'duration', seconds: 3 } });
  });

  it('sends the form with its fields, and nothing of the name of the file', async () => {
    await client.audio.transcriptions.create({
      ...{
        model: 'whisper',
        file: await sound(),
        language: 'de',
        prompt: 'Plinth',
        temperature: 0.2,
      },
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });

    const [request] = simulator.requests;
    expect(request?.path).toBe('/v1/audio/transcriptions');
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request?.body).toEqual({
      ...{ model: 'whisper', language: 'de', prompt: 'Plinth', temperature: '0.2' },
      response_format: 'verbose_json',
      'timestamp_granularities[]': ['word', 'segment'],
      file: { filename: 'audio.wav', type: 'audio/wav', base64: wave().toString('base64') },
    });
  });

  it.each([
    ['text', /^Heard 48044 bytes of audio\/wav\n$/],
    ['srt', /^1\n00:00:00,000 --> 00:00:03,000\nHeard/],
    ['vtt', /^WEBVTT\n\n00:00:00\.000 --> 00:00:03\.000\nHeard/],
  ] as const)('answers the format %s as text', async (response_format, expected) => {
    for (const model of ['whisper', 'voxtral-mini']) {
      const asked = { model, file: await sound(), response_format };
      const response = await client.audio.transcriptions.create(asked).asResponse();

      expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
      expect(await response.text()).toMatch(expected);
    }
  });

  it.each(['verbose_json', 'diarized_json'] as const)(
    'answers %s with its segments',
    async (format) => {
      const file = await sound();
      const made = await client.audio.transcriptions.create({
        model: 'whisper',
        file,
        response_format: format,
      });

      expect(made).toMatchObject({ text: TEXT, duration: 3, segments: [{ end: 3, text: TEXT }] });
    },
  );

  it.each(['gpt-4o-transcribe', 'voxtral-mini', 'vllm-whisper', 'whisper'])(
    'streams the text of %s, whatever its service sends',
    async (model) => {
      const events = await eventsOf(model);
      const last = events.at(-1);
      const deltas = events.slice(0, -1);

      expect(last).toMatchObject({ type: 'transcript.text.done', text: TEXT });
      expect(
        deltas.map((event) => (event.type === 'transcript.text.delta' ? event.delta : '')).join(''),
      ).toBe(TEXT);
      expect(deltas.length).toBe(model === 'whisper' ? 1 : 5);
    },
  );

  it.each(['gpt-4o--error-2', 'gpt-4o--cut-2'])(
    'says that the stream of %s has failed',
    async (model) => {
      const seen: string[] = [];
      const stream = await client.audio.transcriptions.create({
        model,
        file: await sound(),
        stream: true,
      });
      const reading = (async () => {
        for await (const event of stream) seen.push(event.type);
      })();

      await expect(reading).rejects.toThrow(/provider/i);
      expect(seen).toEqual(['transcript.text.delta', 'transcript.text.delta']);
    },
  );

  it('passes the reason of the service on, without its key', async () => {
    const asked = {
      model: 'gpt-4o-transcribe',
      file: await sound(),
      response_format: 'srt' as const,
    };
    const error = await failure(client.audio.transcriptions.create(asked));
    expect([error.status, error.message]).toEqual([
      400,
      expect.stringContaining('not compatible with model'),
    ]);

    simulator.script({ match: { path: '/audio/transcriptions' }, leak: true });
    const leaked = await failure(
      client.audio.transcriptions.create({ model: 'whisper', file: await sound() }),
    );
    expect(leaked.status).toBe(502);
    expect(leaked.message).not.toContain(KEY);
  });

  it.each([
    ['a text', Buffer.from('Hello'), 'file'],
    ['a picture', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'file'],
  ])('refuses %s, which is no sound, before any call', async (_name, bytes, param) => {
    const error = await failure(
      client.audio.transcriptions.create({ model: 'whisper', file: await sound(bytes) }),
    );

    expect([error.status, error.param]).toEqual([400, param]);
    expect(simulator.requests).toHaveLength(0);
  });

  it('refuses wrong fields by their names, and a form that is too large', async () => {
    const file = await sound();
    const wrong = { model: 'whisper', file, response_format: 'pdf' as 'json' };
    const hot = { model: 'whisper', file, temperature: 7 };
    const large = {
      model: 'whisper',
      file: await sound(Buffer.concat([wave(), Buffer.alloc(31 * 2 ** 20)])),
    };
    const none = client.post('/audio/transcriptions', { body: { model: 'whisper' } });

    expect(await failure(client.audio.transcriptions.create(wrong))).toMatchObject({
      status: 400,
      param: 'response_format',
    });
    expect(await failure(client.audio.transcriptions.create(hot))).toMatchObject({
      status: 400,
      param: 'temperature',
    });
    expect(await failure(client.audio.transcriptions.create(large))).toMatchObject({ status: 413 });
    expect(await failure(none)).toMatchObject({ status: 400, param: 'file' });
  });

  it('refuses a model of another category, a service without it, and a key without the permission', async () => {
    const file = await sound();
    const chatting = await clientWith(['chat:chat:use']);

    expect(
      await failure(client.audio.transcriptions.create({ model: 'none', file })),
    ).toMatchObject({ status: 404 });
    expect(
      await failure(client.audio.transcriptions.create({ model: 'other-service', file })),
    ).toMatchObject({ status: 500 });
    expect(
      await failure(chatting.audio.transcriptions.create({ model: 'whisper', file })),
    ).toMatchObject({ status: 403 });
  });

  it('records seconds or tokens, as the service counts, and else the length of the sound', async () => {
    await client.audio.transcriptions.create({ model: 'whisper', file: await sound() });
    const whisper = await lastCall();
    await eventsOf('gpt-4o-transcribe');
    const tokens = await lastCall();
    await client.audio.transcriptions.create({ model: 'silent-usage', file: await sound() });
    const silent = await lastCall();

    expect(whisper).toEqual({
      ...{ kind: 'transcript', outcome: 'ok', seconds: 3, input: 0, output: 0, cost: 0.0003 },
    });
    expect(tokens).toMatchObject({ kind: 'transcript', input: 30, output: 5 });
    expect(silent).toMatchObject({ kind: 'transcript', seconds: expect.closeTo(3, 1) });
  });
});

describe('POST /media/transcription', () => {
  it('answers the text to the app, and says what is missing', async () => {
    const form = new FormData();
    form.append('model', 'whisper');
    form.append('language', 'de');
    const none = await admin.upload('/media/transcription', form);
    form.append('file', await sound());
    const made = await admin.upload('/media/transcription', form);

    expect(made).toMatchObject({ code: 200, data: { text: TEXT, seconds: 3 } });
    expect(none).toMatchObject({ code: 400, msg: expect.stringContaining('no sound') });
    expect(simulator.requests.map(({ body }) => body)).toEqual([
      expect.objectContaining({ model: 'whisper', language: 'de' }),
    ]);
  });
});

describe('POST /v1/audio/translations', () => {
  it('answers English of the service', async () => {
    const form = new FormData();
    form.append('model', 'whisper');
    form.append('file', await sound());
    const body = await admin.upload('/v1/audio/translations', form);

    expect(body).toMatchObject({ text: 'In English 48044 bytes of audio/wav' });
    expect(simulator.requests[0]?.path).toBe('/v1/audio/translations');
  });
});

it('GET /v1/models lists transcription models with what they read', async () => {
  expect(await client.models.retrieve('whisper')).toMatchObject({
    category: 'transcription',
    architecture: { input_modalities: ['audio'], output_modalities: ['text'] },
  });
});
