import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeDemoWorkspace } from '../../src/demo/demo.workspace.js';
import type { ChatMessage, RequestedCall } from '../chat/chat-request.js';
import { type JsonObject, objectOf, objectsOf, stringOf } from '../http/json.js';
import { type Simulator, startSimulator } from '../index.js';
import { send } from '../wire-client.js';
import { nextMove } from './coder.js';
import type { Call, Edit } from './transcripts.js';

const FIX = 'Fix the failing test.';
const ADD = 'Add a function `countPieces` that counts the pieces of a basket.';
const READING = ['activate_skill', 'list_files', 'read_file'];
const ALL_CALLS = [...READING, 'plan_create', 'edit_file', 'shell', 'plan_step'];

/** The files of the demo's repository that the runs are about. */
const example = new Map<string, string>();

beforeAll(async () => {
  const root = mkdtempSync(join(tmpdir(), 'plinth-coder-'));
  try {
    await writeDemoWorkspace(root);
    for (const path of ['README.md', 'src/basket.js', 'test/basket.test.js']) {
      example.set(path, readFileSync(join(root, 'example', path), 'utf8'));
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** Answers calls as the harness does, on files in memory. */
class Session {
  readonly files = new Map(example);
  readonly messages: ChatMessage[] = [];
  isReadOnly = false;
  /** Whether the plan was approved in messages that are no longer sent. */
  isPlanned = false;
  /** Results of the tools that a test answers itself; they are errors if they begin with Denied. */
  results: Readonly<Record<string, string>> = {};
  /** What the user says while the plan waits. */
  feedback: string[] = [];

  /** Plays a requirement; the calls and the report. */
  run(requirement: string): { calls: Call[]; names: string[]; report: string } {
    const calls: Call[] = [];
    let isPlanned = this.isReadOnly || this.isPlanned;
    this.messages.push(message('user', requirement));
    for (let turn = 0; turn < 20; turn += 1) {
      const building = this.isReadOnly ? ['plan_step'] : ['edit_file', 'shell', 'plan_step'];
      const names = [...READING, ...(isPlanned ? building : ['plan_create'])];
      const move = nextMove({
        model: 'coder',
        messages: this.messages,
        tools: names.map((name) => ({ name, parameters: {} })),
        stream: false,
        includeUsage: false,
      });
      const toolCalls = move.calls.map((call, index) => ({ ...call, id: `call-${index}` }));
      this.messages.push({ ...message('assistant', move.say), toolCalls });
      if (toolCalls.length === 0) {
        return { calls, names: [...new Set(calls.map(({ name }) => name))], report: move.say };
      }
      calls.push(...move.calls);
      for (const call of toolCalls) this.messages.push(this.answer(call));
      if (toolCalls[0]?.name !== 'plan_create') continue;
      const feedback = this.feedback.shift();
      isPlanned = feedback === undefined;
      if (feedback !== undefined) this.messages.push(message('user', feedback));
    }
    throw new Error('The run does not end.');
  }

  private answer({ id, name, arguments: input }: RequestedCall): ChatMessage {
    const result = this.results[name] ?? this.execute(name, input);
    const label = `from ${name}${result.startsWith('Denied') ? ', an error' : ''}`;
    return {
      ...message('tool', `[data 1a ${label}]\n${result}\n[end of data 1a]`),
      toolCallId: id,
    };
  }

  private execute(name: string, { path, edits }: JsonObject): string {
    let text = this.files.get(stringOf(path)) ?? '';
    if (name === 'read_file') return text.replaceAll(/^/gm, '1\t');
    for (const { oldText, newText, replaceAll } of objectsOf(edits) as Edit[]) {
      expect(text.split(oldText).length - 1).toBeGreaterThan(0);
      text = replaceAll ? text.replaceAll(oldText, newText) : text.replace(oldText, newText);
    }
    if (name === 'edit_file') this.files.set(stringOf(path), text);
    return 'Done.';
  }
}

function message(role: ChatMessage['role'], text: string): ChatMessage {
  return { role, text, images: [] };
}

describe('a recorded run', () => {
  it('repairs: looks, plans, edits, checks, reports in the words of the tests', () => {
    const session = new Session();
    session.results = { shell: 'ok 1\n# pass 2\n# fail 0' };
    const { calls, names, report } = session.run(FIX);
    expect(names).toEqual(ALL_CALLS);
    const plan = calls.find(({ name }) => name === 'plan_create');
    expect(plan?.arguments).toMatchObject({ files: ['src/basket.js'] });
    expect(JSON.stringify(calls.at(-1))).not.toContain('SKIPPED');
    expect(session.files.get('src/basket.js')).toContain('quantity >= MANY_PIECES');
    expect(report).toContain('```text\n# pass 2\n# fail 0\n```');
  });

  it('follows others in one session: explains, runs the tests, adds, renames', () => {
    const session = new Session();
    const explanation = session.run('What does shipping cost, and when is it free?');
    expect(explanation).toMatchObject({ names: READING });
    expect(explanation.report).toContain('490 cents, and free for baskets');
    expect(session.run('Run the tests.').names).not.toContain('edit_file');
    expect(session.run(ADD).names).toEqual(ALL_CALLS);
    expect(session.files.get('src/basket.js')).toContain('export function countPieces(lines) {');
    expect(session.files.get('test/basket.test.js')).toContain("test('countPieces'");
    expect(session.run(ADD).report).toContain('nothing to change');
    session.run('Rename countPieces to pieceCount.');
    expect([...session.files.values()].join()).not.toContain('countPieces');
  });

  it('plans again after feedback, and says that it cannot follow it', () => {
    const session = new Session();
    session.feedback = ['Add a test for eleven pieces.'];
    const { calls } = session.run(FIX);
    const [, second] = calls.filter(({ name }) => name === 'plan_create');
    expect(JSON.stringify(second)).toContain('cannot follow the feedback: Add a test for eleven');
    expect(session.files.get('src/basket.js')).toContain('>= MANY_PIECES');
  });

  it('changes nothing where it may only read, is denied, or the file is another one', () => {
    const reader = new Session();
    reader.isReadOnly = true;
    const reading = reader.run(FIX);
    expect(reading.names).toEqual(READING);
    expect(reading.report).toContain('may only read');
    const denied = new Session();
    denied.results = { edit_file: 'Denied: leave this file alone.' };
    const { calls, report } = denied.run(FIX);
    expect(calls.at(-1)?.name).toBe('edit_file');
    expect(report).toContain('> Denied: leave this file alone.\n\nI have changed nothing.');
    const other = new Session();
    other.files.set('src/basket.js', 'changed');
    expect(other.run(FIX).report).toContain('src/basket.js is not as it was');
  });

  it('reads again when the messages before were summarised, and goes on with what is left', () => {
    const session = new Session();
    const fixed = example.get('src/basket.js')?.replace('quantity > ', 'quantity >= ');
    session.files.set('src/basket.js', fixed ?? '');
    session.isPlanned = true;
    const { names } = session.run(FIX);
    expect(names).toEqual([...READING, 'shell']);
  });

  it('names the requirements that it knows when it is asked for another one', () => {
    const session = new Session();
    session.run(FIX);
    const { calls, report } = session.run('Write a poem.');
    expect([calls, report]).toEqual([[], expect.stringContaining(`- ${FIX}`)]);
  });
});

describe('a recorded run on each protocol', () => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(() => simulator.close());

  const schema = { type: 'object', properties: { path: { type: 'string' } } };
  const names = ['list_files', 'read_file'];
  const tools = names.map((name) => ({ type: 'function', function: { name, parameters: schema } }));
  const question = { role: 'user', content: 'Explain shipping.' };
  const paths = ['README.md', 'src/basket.js', 'test/basket.test.js'].map((path) => ({ path }));

  it('pairs calls and results of chat-completions', async () => {
    const url = `${simulator.url}/v1/chat/completions`;
    const body = { model: 'sim-coder', tools, messages: [question] };
    const first = await send(url, body);
    const reply = objectOf(objectsOf(first.json['choices'])[0]?.['message']);
    const list = { function: { name: 'list_files', arguments: '{"path":"."}' } };
    expect(reply).toMatchObject({ content: 'I list the files.', tool_calls: [list] });
    const [call] = objectsOf(reply['tool_calls']);
    const result = { role: 'tool', tool_call_id: call?.['id'], content: 'README.md' };
    const next = await send(url, { ...body, messages: [question, reply, result] });
    const calls = paths.map((path) => ({ function: { arguments: JSON.stringify(path) } }));
    expect(next.json).toMatchObject({ choices: [{ message: { tool_calls: calls } }] });
  });

  it('pairs several results in one message of the messages protocol', async () => {
    const use = (id: string, name: string, input: JsonObject) => ({
      type: 'tool_use',
      id,
      name,
      input,
    });
    const result = (id: string, content: string) => ({
      type: 'tool_result',
      tool_use_id: id,
      content,
    });
    const texts = [`[data 1a notes]\n${FIX}\n[end of data 1a]`, question.content, '[harness] Go.'];
    const reads = paths.map((path, index) => use(`r${index}`, 'read_file', path));
    const messages = [
      { role: 'user', content: texts.map((text) => ({ type: 'text', text })) },
      { role: 'assistant', content: [use('a', 'list_files', { path: '.' })] },
      { role: 'user', content: [result('a', 'README.md')] },
      { role: 'assistant', content: reads },
      {
        role: 'user',
        content: [result('r2', ''), result('r1', ''), result('r0', example.get('README.md') ?? '')],
      },
    ];
    const { json } = await send(`${simulator.url}/v1/messages`, {
      model: 'sim-coder',
      max_tokens: 9,
      tools: names.map((name) => ({ name, input_schema: schema })),
      messages,
    });
    expect(json).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text' }] });
    expect(JSON.stringify(json)).toContain('> Shipping is 490 cents');
  });

  it('pairs the calls without ids of the local runtime', async () => {
    const call = { function: { name: 'list_files', arguments: { path: '.' } } };
    const messages = [
      question,
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_name: 'list_files', content: 'README.md' },
    ];
    const body = { model: 'sim-coder', tools, messages, stream: false };
    const { json } = await send(`${simulator.url}/api/chat`, body);
    const calls = paths.map((path) => ({ function: { name: 'read_file', arguments: path } }));
    expect(json).toMatchObject({ message: { tool_calls: calls } });
  });

  it('is an ordinary model where no tools are offered', async () => {
    const body = { model: 'sim-coder', messages: [question] };
    const { text } = await send(`${simulator.url}/v1/chat/completions`, body);
    expect(text).toContain('You asked');
  });
});
