import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import { chatAdapters } from '../../adapter.registries.js';
import { UpstreamError } from '../upstream.error.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from './chat.adapter.js';

const FOLDER = join(import.meta.dirname, 'vendors');

type Section = 'stream' | 'answer' | 'status' | 'reads' | 'sends' | 'fails';

interface Scenario {
  readonly name: string;
  readonly sections: ReadonlyMap<Section, string>;
  readonly status: number;
}

interface Fixture {
  readonly vendor: string;
  readonly preset: string;
  readonly address: string;
  readonly scenarios: readonly Scenario[];
}

/** Every vendor has these, or says in its head why it lacks one (`lacks: refusal, …`). */
const SCENARIOS = [
  'plain',
  'thinking',
  'one call',
  'two calls',
  'usage',
  'refusal',
  'error before',
  'error in the stream',
];

const TOOL = {
  name: 'look_up',
  description: 'Looks a word up',
  inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
};

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
let server: Server;
let url: string;
let reply: { readonly status: number; readonly type: string; readonly body: string };
let received: Record<string, unknown> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += String(piece)));
    request.on('end', () => {
      received = JSON.parse(text) as Record<string, unknown>;
      response.writeHead(reply.status, { 'content-type': reply.type });
      response.end(reply.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await http.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const fixtures = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => fixtureOf(file, readFileSync(join(FOLDER, file), 'utf8')));

describe.each(fixtures.map((fixture) => [fixture.vendor, fixture] as const))('%s', (_, fixture) => {
  const adapter = adapterOf(fixture.preset);
  const connection = () => ({
    address: `${url}${fixture.address}`,
    credential: 'key-of-the-test-1',
  });
  const options = () => ({
    limits: { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 },
    signal: new AbortController().signal,
  });
  const callOf = (messages: ChatCall['messages']): ChatCall => ({
    model: 'the-model',
    messages,
    tools: [TOOL],
  });
  const first = callOf([{ role: 'user', content: 'What is the moon?' }]);
  const streamed = async (call: ChatCall): Promise<ChatCompletion> =>
    completionOf(adapter.stream(call, connection(), options()));
  const whole = (call: ChatCall): Promise<ChatCompletion> =>
    adapter.complete(call, connection(), options());

  describe.each(fixture.scenarios.map((one) => [one.name, one] as const))(
    '%s',
    (_name, scenario) => {
      const { sections, status } = scenario;
      const ways = [
        ['streamed', 'stream', streamed],
        ['in one piece', 'answer', whole],
        ['refused', 'status', streamed],
        ['refused in one piece', 'status', whole],
      ] as const;
      const known = ways.filter(([, section]) => sections.has(section));
      it.each(known)('%s', async (_way, section, ask) => {
        const body = sections.get(section) ?? '';
        const type = section === 'stream' ? streamTypeOf(body) : 'application/json';
        reply = { status: section === 'status' ? status : 200, type, body };
        const fails = sections.get('fails');
        if (fails !== undefined) {
          const { kind, text } = JSON.parse(fails) as { kind: string; text?: string };
          const error = await ask(first).then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          expect(error).toBeInstanceOf(UpstreamError);
          expect(error).toMatchObject({ kind });
          if (text !== undefined) expect((error as UpstreamError).vendorText).toContain(text);
          return;
        }
        const completion = await ask(first);
        const reads = JSON.parse(sections.get('reads') ?? '{}') as Record<string, unknown>;
        expect(readOf(completion)).toMatchObject(reads);
        const sends = sections.get('sends');
        if (sends === undefined) return;
        await ask(callOf([...first.messages, ...secondTurn(completion)]));
        expect(assistantIn(received)).toMatchObject(JSON.parse(sends) as object);
      });
    },
  );

  it('has every scenario, or says which it lacks', () => {
    const names = fixture.scenarios.map(({ name }) => name);
    expect(SCENARIOS.filter((name) => !names.some((one) => one.startsWith(name)))).toEqual([]);
  });
});

function adapterOf(preset: string): ChatAdapter {
  const adapter = chatAdapters(http).find(({ code }) => code === preset);
  if (!adapter) throw new Error(`There is no preset ${preset}.`);
  return adapter;
}

function fixtureOf(file: string, text: string): Fixture {
  const [head = '', ...rest] = text.split(/^=== /m);
  const field = (name: string): string =>
    new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1]?.trim() ?? '';
  if (!/^source: \S.*\(\d{4}-\d{2}-\d{2}\)$/m.test(head)) {
    throw new Error(`${file} names no source with its date.`);
  }
  const lacks = field('lacks')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return {
    vendor: field('vendor'),
    preset: field('preset'),
    address: field('address'),
    scenarios: [...rest.map(scenarioOf), ...lacks.map(emptyScenario)],
  };
}

function emptyScenario(name: string): Scenario {
  return { name, sections: new Map(), status: 200 };
}

function scenarioOf(text: string): Scenario {
  const [name = '', ...parts] = text.split(/^>>> /m);
  let status = 200;
  const sections = new Map<Section, string>();
  for (const part of parts) {
    const end = part.indexOf('\n');
    const [kind = '', number] = part.slice(0, end).trim().split(' ');
    if (number !== undefined) status = Number(number);
    sections.set(kind as Section, part.slice(end + 1));
  }
  return { name: name.trim(), sections, status };
}

function streamTypeOf(body: string): string {
  return body.startsWith('{') ? 'application/x-ndjson' : 'text/event-stream';
}

async function completionOf(stream: AsyncIterable<readonly ChatPart[]>): Promise<ChatCompletion> {
  let completion: ChatCompletion = {
    text: '',
    reasoning: '',
    toolCalls: [],
    finish: { reason: 'other' },
  };
  for await (const parts of stream) {
    for (const part of parts) completion = withPart(completion, part);
  }
  return completion;
}

function withPart(completion: ChatCompletion, part: ChatPart): ChatCompletion {
  switch (part.type) {
    case 'text-delta':
      return { ...completion, text: completion.text + part.text };
    case 'reasoning-delta':
      return { ...completion, reasoning: completion.reasoning + part.text };
    case 'tool-call':
      return { ...completion, toolCalls: [...completion.toolCalls, part.toolCall] };
    case 'provider-state':
      return { ...completion, providerState: part.providerState };
    case 'usage':
      return { ...completion, usage: part.usage };
    case 'finish':
      return { ...completion, finish: { reason: part.reason } };
  }
}

/** What a fixture says of an answer. Calls without an id in the fixture have any. */
function readOf({ text, reasoning, toolCalls, finish, usage }: ChatCompletion): object {
  return {
    text,
    reasoning,
    calls: toolCalls.map(({ id, name, input, invalid }) => ({
      ...{ id, name, input },
      ...(invalid && { invalid }),
    })),
    finish: finish.reason,
    usage,
  };
}

function secondTurn({ text, toolCalls, providerState }: ChatCompletion): ChatCall['messages'] {
  return [
    {
      ...{ role: 'assistant', content: text, toolCalls },
      ...(providerState && { providerState }),
    },
    ...toolCalls.map(({ id, name }) => ({
      ...{ role: 'tool' as const, toolCallId: id, name },
      content: `The result of ${name}.`,
    })),
  ];
}

/** The assistant's message in the body of a request; of responses its items. */
function assistantIn(body: Record<string, unknown>): unknown {
  const { messages, input } = body as {
    messages?: { role: string }[];
    input?: { role?: string }[];
  };
  const isAssistant = ({ role }: { role?: string }): boolean => role === 'assistant';
  return messages?.find(isAssistant) ?? input?.slice(1);
}
