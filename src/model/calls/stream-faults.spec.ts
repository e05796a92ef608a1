import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { limitsOf, streamFaults } from '../../../test/support/stream-faults.js';
import type { StreamFault } from '../../../test/support/stream-faults.js';
import { notTranslated, TRYING, unstoredCalls } from '../../../test/support/upstream-calls.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { ChatAdapterRegistry, UpstreamError } from '../../provider/index.js';
import type { ChatPart } from '../../provider/index.js';
import type { ResolvedChatModel } from '../model.resolver.js';
import type { UsageEntry } from '../../usage/index.js';
import type { UpstreamCalls } from './upstream.calls.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const chats = new ChatAdapterRegistry(http);
/** What the fallback answers. */
const SAID = 'It was said elsewhere.';
const ASKED = { messages: [{ role: 'user', content: SAID } as const] };
const BODIES = {
  messages: { ...ASKED, model: 'as-asked', max_tokens: 100, stream: true },
  input: { input: ASKED.messages, model: 'as-asked', max_output_tokens: 100, stream: true },
};
/** Of the fallback. */
const ECHO = 'sim--echo';
const [FIRST, SECOND] = [1, 2];
let failing: Simulator;
let standIn: Simulator;

beforeAll(async () => {
  failing = await startSimulator();
  standIn = await startSimulator();
});
afterEach(() => {
  failing.reset();
  standIn.reset();
});
afterAll(async () => {
  await http.close();
  await failing.close();
  await standIn.close();
});

function modelOf(
  code: string,
  { id, modelName, address }: { id: number; modelName: string; address: string },
): ResolvedChatModel {
  return {
    ...{ id, modelName, label: modelName, tenantId: '000000', revision: 1, category: 'chat' },
    ...{ providerCode: code, adapter: chats.get(code), connection: { address, credential: 'key' } },
  };
}

const fallbackOf = (code: string): ResolvedChatModel =>
  modelOf(code, { id: SECOND, modelName: ECHO, address: standIn.url });

/** A model that fails so, with a fallback of the same vendor, and what calls of them would enter in the usage ledger. */
function callsOf(code: string, { words }: StreamFault) {
  const attempted: UsageEntry[] = [];
  const calls = unstoredCalls(undefined, [], { fallbacks: [fallbackOf(code)], attempted });
  const failingModel = { id: FIRST, modelName: `sim--${words}`, address: failing.url };
  return { calls, attempted, asked: { ...modelOf(code, failingModel), fallbackIds: [SECOND] } };
}

const optionsOf = (fault: Pick<StreamFault, 'isSilent'>) => ({
  use: TRYING,
  limits: limitsOf(fault),
  signal: new AbortController().signal,
});

interface Outcome {
  readonly text: string;
  /** Parts that say that the answer is whole. */
  readonly ends: number;
  readonly failure: unknown;
  readonly recorded: readonly unknown[];
}

async function outcomeOf(
  stream: AsyncIterable<readonly ChatPart[]>,
  attempted: readonly UsageEntry[],
): Promise<Outcome> {
  const parts: ChatPart[] = [];
  let failure: unknown;
  try {
    for await (const some of stream) parts.push(...some);
  } catch (error) {
    failure = error instanceof UpstreamError ? error.kind : error;
  }
  const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  return {
    text: text.trim(),
    ends: parts.filter(({ type }) => type === 'finish').length,
    failure,
    recorded: attempted.map(({ attempt, model_id: id, outcome }) => [attempt, id, outcome]),
  };
}

/** An error of the caller, which every model would answer alike. */
const isOfCaller = ({ kind }: StreamFault): boolean => kind === 'invalid-request';

function answeredElsewhere({ kind }: StreamFault): Outcome {
  const recorded = [
    [1, FIRST, kind],
    [2, SECOND, 'ok'],
  ];
  return { text: SAID, ends: 1, failure: undefined, recorded };
}

function failed({ text, kind }: StreamFault): Outcome {
  return { text, ends: 0, failure: kind, recorded: [[1, FIRST, kind]] };
}

const protocolOf = (code: string) => chats.get(code).protocol(failing.url);
const bodyOf = (code: string) =>
  protocolOf(code) === 'responses' ? BODIES.input : BODIES.messages;

/** What `run` comes to with each protocol that has the fault, beside what is expected of all of them. */
async function withEach<T>(
  codes: readonly string[],
  expected: T,
  run: (code: string) => Promise<T>,
): Promise<{ met: Record<string, T>; expected: Record<string, T> }> {
  const met = await Promise.all(codes.map(async (code) => [code, await run(code)] as const));
  return {
    met: Object.fromEntries(met),
    expected: Object.fromEntries(codes.map((code) => [code, expected])),
  };
}

/** One vendor of each protocol: what is done with a failure depends on its kind, which the contract of the adapters tests. */
const CODES = new Map(
  chats.codes().map((code) => [chats.get(code).protocol('http://x.test'), code]),
);

const FAULTS = streamFaults().map((fault) => [fault.words, fault] as const);

describe.each(FAULTS)('with a fallback, the fault %s', (_, fault) => {
  const codesWith = (): readonly string[] =>
    [...CODES.values()].filter((code) => streamFaults(protocolOf(code)).includes(fault));

  it('is answered by it before the first part, and by an error alone after it', async () => {
    const isElsewhere = fault.text === '' && !isOfCaller(fault);
    const codes = codesWith();
    const { met, expected } = await withEach(
      codes,
      isElsewhere ? answeredElsewhere(fault) : failed(fault),
      (code) => {
        const { calls, asked, attempted } = callsOf(code, fault);
        const stream = calls.stream(asked, () => ASKED, optionsOf(fault));
        return outcomeOf(stream, attempted);
      },
    );
    expect(codes.length).toBeGreaterThan(0);
    expect(met).toEqual(expected);
    expect(failing.requests).toHaveLength(codes.length);
    expect(standIn.requests).toHaveLength(isElsewhere ? codes.length : 0);
  });

  it('does not mix two relayed streams', async () => {
    // An event without text has been passed on as well.
    const isElsewhere = fault.isRefusal === true && !isOfCaller(fault);
    const codes = codesWith().filter((code) =>
      chats.get(code).canRelay(failing.url, protocolOf(code)),
    );
    const { met, expected } = await withEach(
      codes,
      { ...(isElsewhere ? answeredElsewhere(fault) : failed(fault)), isTheFallbacks: isElsewhere },
      async (code) => {
        const { calls, asked, attempted } = callsOf(code, fault);
        const passed: string[] = [];
        const stream = partsOf(
          calls.relayStream(asked, bodyOf(code), relayOptionsOf(fault)),
          passed,
        );
        const outcome = await outcomeOf(stream, attempted);
        const own = await relayedBy(calls, fallbackOf(code));
        return { ...outcome, isTheFallbacks: neutral(passed.join('')) === neutral(own) };
      },
    );
    expect(met).toEqual(expected);
  });
});

const relayOptionsOf = (fault: Parameters<typeof optionsOf>[0]) => ({
  ...optionsOf(fault),
  translated: notTranslated,
});

type Relayed = ReturnType<UpstreamCalls['relayStream']>;

async function* partsOf(
  stream: Relayed,
  passed: string[],
): AsyncGenerator<readonly ChatPart[], void, void> {
  for await (const { bytes, parts } of stream) {
    passed.push(bytes?.toString() ?? '');
    yield parts;
  }
}

/** What the model streams when it is called alone. */
async function relayedBy(calls: UpstreamCalls, model: ResolvedChatModel): Promise<string> {
  const passed: string[] = [];
  const stream = partsOf(
    calls.relayStream(model, bodyOf(model.providerCode), relayOptionsOf({})),
    passed,
  );
  await outcomeOf(stream, []);
  expect(passed.join('')).toContain('said');
  return passed.join('');
}

/** Without what differs between two answers of the simulator. */
function neutral(text: string): string {
  return text.replaceAll(/"(id|item_id|created|created_at)":("[^"]*"|\d+)/g, '"$1":0');
}
