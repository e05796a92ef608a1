import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { literal } from '../../../src/platform/message/index.js';
import { UpstreamError } from '../../../src/provider/index.js';
import type {
  ChatCompletion,
  ChatMessage,
  ProviderState,
  ToolCall,
} from '../../../src/provider/index.js';
import { ChatAdapterRegistry } from '../../../src/provider/index.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { answering, callingTools, ScriptedAdapter } from '../../support/scripted-adapter.js';
import { FREE, toolResults } from '../../support/scripted-model.js';

const STATE: ProviderState = {
  origin: 'scripted',
  data: { blocks: [{ type: 'thinking', signature: 'the-signature-of-the-service' }] },
};
const READ = toolCall('read_file', '{"path":"src/add.js"}');
const TOO_LONG = new UpstreamError({
  kind: 'context-length',
  message: literal('The conversation is too long for the model.'),
});

let harness: Harness;
let scripted: ScriptedAdapter;

beforeAll(async () => {
  harness = await startHarness();
});

beforeEach(() => {
  scripted = new ScriptedAdapter(harness.plinth, 'custom_api');
});

afterEach(() => {
  scripted.close();
  harness.simulator.reset();
});

afterAll(() => harness.stop());

function toolCall(name: string, text: string): ToolCall {
  return {
    id: `service_${name}`,
    name,
    arguments: text,
    input: JSON.parse(text) as ToolCall['input'],
  };
}

function invalidCall(name: string, text: string): ToolCall {
  return { id: `invalid_${name}`, name, arguments: text, input: {}, invalid: true };
}

async function run(over: Readonly<Record<string, unknown>> = {}): Promise<RunView> {
  const { sessionId } = await harness.createSession(over);
  return harness.ended(await harness.createRun(sessionId));
}

/** The answers with calls that the model was sent in its last call. */
function answersSent(): Extract<ChatMessage, { role: 'assistant' }>[] {
  return (scripted.calls.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === 'assistant' && message.toolCalls ? [message] : [],
  );
}

describe('what a service wants back with a tool call', () => {
  it('is sent with each answer again, and shown to nobody', async () => {
    const other = { ...STATE, data: { id: 'the-signature-of-the-second' } };
    scripted.then(
      callingTools([READ], { thinking: 'Hm.', state: STATE }),
      callingTools([READ], { state: other }),
      callingTools([READ]),
      answering('Done.'),
    );
    const ended = await run();

    expect(ended.status).toBe('COMPLETED');
    expect(answersSent().map(({ providerState }) => providerState)).toEqual([
      STATE,
      other,
      undefined,
    ]);
    const shown = JSON.stringify([
      await harness.messages(ended),
      await harness.events(ended),
      await harness.run(ended),
    ]);
    expect(shown + harness.plinth.log.join('')).not.toContain('the-signature-of');
  });
});

describe('a call whose arguments are not a JSON object', () => {
  it('fails for the model to read, and the other calls of the answer are executed', async () => {
    const text = '{"path":"src/add.js","content":';
    const plan = { summary: 'As told', steps: [{ text: 'Do it' }], files: ['src/add.js'] };
    scripted.then(
      callingTools([toolCall('plan_create', JSON.stringify(plan))]),
      callingTools([READ, invalidCall('write_file', text), invalidCall('list_files', '["src"]')], {
        state: STATE,
      }),
      answering('Done.'),
    );
    const ended = await run(FREE);

    expect(ended.status).toBe('COMPLETED');
    const results = new Map(
      (await toolResults(harness, ended)).map((one) => [String(one.toolName), one]),
    );
    const codeOf = (name: string): unknown => results.get(name)?.metadata.code;
    expect(['read_file', 'write_file', 'list_files'].map(codeOf)).toEqual([
      ...[undefined, 'INVALID_ARGUMENTS', 'INVALID_ARGUMENTS'],
    ]);
    expect(results.get('write_file')?.content).toMatch(
      /write_file are not valid\. They are not JSON\. .* again/,
    );
    expect(answersSent()[1]).toMatchObject({
      providerState: STATE,
      toolCalls: [
        { name: 'read_file', input: { path: 'src/add.js' } },
        { name: 'write_file', arguments: text, input: {}, invalid: true },
        { name: 'list_files', arguments: '["src"]', invalid: true },
      ],
    });
  });

  it('ends a run that makes nothing else', async () => {
    scripted.then(
      ...Array.from({ length: 12 }, (_, at) =>
        callingTools([invalidCall('read_file', `{"path":"${at}`)]),
      ),
    );
    expect(await run()).toMatchObject({ status: 'FAILED', stopReason: 'FORMAT_ERRORS' });
  });
});

describe('a conversation that is too long for its model', () => {
  /** Answers that take several thousand tokens each. */
  const READS = Array.from({ length: 4 }, () => callingTools([READ]));

  beforeEach(() => {
    harness.write({ 'src/add.js': `// ${'a long comment '.repeat(1_000)}\n` });
    const adapter = harness.plinth.app.get(ChatAdapterRegistry).get('custom_api');
    const summary: ChatCompletion = {
      ...{ text: 'Asked: fix add().', reasoning: '', toolCalls: [], finish: { reason: 'stop' } },
    };
    adapter.complete = () => Promise.resolve(summary);
  });

  afterEach(() => {
    const adapter = harness.plinth.app.get(ChatAdapterRegistry).get('custom_api');
    Reflect.deleteProperty(adapter, 'complete');
  });

  it('is compacted to half, and the run goes on', async () => {
    scripted.then(...READS, TOO_LONG, answering('Done.'));
    const ended = await run();

    expect(ended).toMatchObject({ status: 'COMPLETED', error: null });
    const [whole, half] = scripted.calls.slice(-2).map(({ messages }) => JSON.stringify(messages));
    expect(half?.length).toBeLessThan((whole?.length ?? 0) / 2);
    const events = await harness.events(ended);
    expect(events.filter(({ type }) => type === 'context.compacted')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'model.turn.abandoned')).toHaveLength(1);
  });

  it('ends the run with what to do when it is still too long', async () => {
    scripted.then(...READS, TOO_LONG, TOO_LONG);
    expect(await run()).toMatchObject({
      status: 'FAILED',
      error: {
        code: 'CONTEXT_OVERFLOW',
        message: expect.stringMatching(
          /^The conversation is too long .* compacted .* new run with/,
        ),
      },
    });
  });
});
