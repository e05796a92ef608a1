import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { UpstreamHealth } from '../../../src/model/calls/upstream.health.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { Database } from '../../../src/platform/database/index.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { streamFaults } from '../../support/stream-faults.js';
import type { StreamFault } from '../../support/stream-faults.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from '../../support/template.js';

const TENANT = '000000';
/** What the fallback answers. */
const SAID = 'It was said elsewhere.';
const FALLBACK = 'sim--echo';
/** Of the protocol of messages. */
const OTHER_FALLBACK = 'sim-other--echo';
let failing: Simulator;
let standIn: Simulator;
let plinth: Plinth;
let admin: Session;
const fallbacks = new Map<string, number>();

overrideConstants(CHAT_LIMITS, { attempts: 1, idleMs: 2_000 });

beforeAll(async () => {
  failing = await startSimulator();
  standIn = await startSimulator();
  plinth = await Plinth.start();
  // All faults are those of one address.
  plinth.app.get(UpstreamHealth).maxFailures = 1_000;
  admin = await plinth.signIn('admin', ADMIN_PASSWORD, TENANT, FULL_CLIENT);
  for (const code of ['custom_api', 'custom_messages']) await createProvider(admin, code);
  for (const [modelName, providerCode] of [
    [FALLBACK, 'custom_api'],
    [OTHER_FALLBACK, 'custom_messages'],
  ] as const) {
    const service = { providerCode, apiHost: standIn.url, apiKey: 'key' };
    fallbacks.set(modelName, await createModel(admin, { ...service, modelName }));
  }
});
afterEach(() => {
  failing.reset();
  standIn.reset();
});
afterAll(async () => {
  await plinth.stop();
  await failing.close();
  await standIn.close();
});

/** A model that fails so, and falls back. */
async function modelWith(
  { words }: StreamFault,
  { name, code, fallback = FALLBACK }: { name: string; code: string; fallback?: string },
): Promise<string> {
  const modelName = `${name}--${words}`;
  const service = { providerCode: code, apiHost: `${failing.url}/v1`, apiKey: 'key' };
  await createModel(admin, { ...service, modelName, fallbackIds: [fallbacks.get(fallback)] });
  return modelName;
}

/** The attempts of the calls of the model. */
async function recorded(asked: string): Promise<readonly unknown[]> {
  await plinth.app.get(UsageLedger).flush();
  return plinth.app.get(Database).query(
    `SELECT attempt, model_name AS model, outcome FROM upstream_call
      WHERE tenant_id = $1 AND asked_model = $2 ORDER BY attempt`,
    [TENANT, asked],
  );
}

function attempts(asked: string, { kind }: StreamFault, fallback: string | undefined): unknown {
  const first = { attempt: 1, model: asked, outcome: kind };
  return fallback ? [first, { attempt: 2, model: fallback, outcome: 'ok' }] : [first];
}

/** The text of the chunks. */
function contentOf(stream: string): string {
  const chunks = stream.match(/(?<=^data: )\{.*\}$/gm) ?? [];
  return chunks
    .map((chunk) => {
      const { choices } = JSON.parse(chunk) as { choices?: { delta: { content?: string } }[] };
      return choices?.[0]?.delta.content ?? '';
    })
    .join('')
    .trim();
}

/** An answer as /chat/send streams and stores it. */
async function chatted(model: string) {
  const { data: sessionId } = await admin.post<string>('/system/session', { sessionTitle: 'Chat' });
  const reply = await sendChat(admin, { model, content: SAID, sessionId });
  const { rows } = await admin.get<{ role: string; state: string; content: string }[]>(
    `/system/message/list?sessionId=${sessionId}`,
  );
  const stored = rows.find(({ role }) => role === 'assistant');
  expect(stored?.content ?? '').toBe(reply.text);
  const isError = reply.error !== undefined;
  return { text: reply.text.trim(), isDone: reply.done, isError, state: stored?.state };
}

/** An answer as /v1/chat/completions streams it. */
async function streamed(model: string) {
  const messages = [{ role: 'user', content: SAID }];
  const body = { model, messages, stream: true };
  const { text, headers } = await admin.raw('POST', '/v1/chat/completions', body);
  return {
    text: contentOf(text),
    ends: text.split('[DONE]').length - 1,
    isError: text.includes('"error":'),
    model: headers['x-plinth-model'],
  };
}

/**
 * One of each kind for which chats and /v1 have paths of their own. Every other fault is tested with the calls themselves
 * (src/model/calls/stream-faults.spec.ts), which hand it on as a failure of one of these kinds.
 */
const KINDS = [
  'status-400',
  'status-429',
  'hold',
  'chunks-20--cut-0',
  'chunks-20--reset-3',
  'chunks-20--error-5--onewrite',
  'chunks-20--stall-2',
];

const FAULTS = streamFaults('chat-completions')
  .filter(({ words }) => KINDS.includes(words))
  .map((fault) => [fault.words, fault] as const);

it('knows the kinds of faults', () => expect(FAULTS).toHaveLength(KINDS.length));

describe.each(FAULTS)('the fault %s of a model with a fallback', (_, fault) => {
  const { text, kind, isRefusal = false } = fault;
  const isOfCaller = kind === 'invalid-request';
  const isBeforeText = text === '' && !isOfCaller;

  it('is no part of a chat', async () => {
    const model = await modelWith(fault, { name: 'chat', code: 'custom_api' });
    expect(await chatted(model)).toEqual(
      isBeforeText
        ? { text: SAID, isDone: true, isError: false, state: 'complete' }
        : { text, isDone: false, isError: true, state: 'failed' },
    );
    expect(await recorded(model)).toEqual(
      attempts(model, fault, isBeforeText ? FALLBACK : undefined),
    );
    expect(standIn.requests).toHaveLength(isBeforeText ? 1 : 0);
  });

  it.each([
    // The first event of a relayed answer is passed on, whatever it says.
    ['relayed', 'custom_api', FALLBACK, isRefusal && !isOfCaller],
    ['relayed first', 'custom_api', OTHER_FALLBACK, isRefusal && !isOfCaller],
    ['translated', 'custom_messages', FALLBACK, isBeforeText],
  ])('is no part of a stream that is %s at /v1', async (name, code, fallback, isElsewhere) => {
    const model = await modelWith(fault, { name: name.replace(' ', '-'), code, fallback });
    expect(await streamed(model)).toEqual(
      isElsewhere
        ? { text: SAID, ends: 1, isError: false, model: encodeURIComponent(fallback) }
        : { text, ends: 0, isError: true, model: undefined },
    );
    expect(await recorded(model)).toEqual(
      attempts(model, fault, isElsewhere ? fallback : undefined),
    );
    expect(standIn.requests).toHaveLength(isElsewhere ? 1 : 0);
  });
});
