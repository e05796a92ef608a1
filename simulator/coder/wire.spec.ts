import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../index.js';
import { objectOf, objectsOf } from '../http/json.js';
import { send } from '../wire-client.js';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(() => simulator.reset());
afterAll(() => simulator.close());

const schema = { type: 'object', properties: { path: { type: 'string' } } };
const functions = ['list_files', 'read_file'].map((name) => ({
  type: 'function',
  function: { name, parameters: schema },
}));
const question = { role: 'user', content: 'Explain the repository.' };
const listing = 'README.md\nsrc/a.js';
const read = [{ path: 'README.md' }, { path: 'src/a.js' }];

describe('a coder on each protocol', () => {
  it('reads calls and results of chat-completions', async () => {
    const url = `${simulator.url}/v1/chat/completions`;
    const body = { model: 'sim-coder', tools: functions, messages: [question] };
    const first = await send(url, body);
    const message = objectOf(objectsOf(first.json['choices'])[0]?.['message']);
    const list = { function: { name: 'list_files', arguments: '{"path":"."}' } };
    expect(message).toMatchObject({ content: 'I list the files.', tool_calls: [list] });
    const [call] = objectsOf(message['tool_calls']);
    const result = { role: 'tool', tool_call_id: call?.['id'], content: listing };
    const next = await send(url, { ...body, messages: [question, message, result] });
    const calls = read.map((given) => ({ function: { arguments: JSON.stringify(given) } }));
    expect(next.json).toMatchObject({ choices: [{ message: { tool_calls: calls } }] });
  });

  it('reads several results in one message of the messages protocol', async () => {
    const url = `${simulator.url}/v1/messages`;
    const tools = ['list_files', 'read_file'].map((name) => ({ name, input_schema: schema }));
    const use = (id: string, name: string, path: string) => ({
      type: 'tool_use',
      id,
      name,
      input: { path },
    });
    const result = (id: string, content: string) => ({
      type: 'tool_result',
      tool_use_id: id,
      content,
    });
    const texts = [
      '[data 1a notes]\nFix it.\n[end of data 1a]',
      question.content,
      '[harness 1a] Go.',
    ];
    const messages = [
      { role: 'user', content: texts.map((text) => ({ type: 'text', text })) },
      { role: 'assistant', content: [use('a', 'list_files', '.')] },
      { role: 'user', content: [result('a', listing)] },
      {
        role: 'assistant',
        content: [use('b', 'read_file', 'README.md'), use('c', 'read_file', 'src/a.js')],
      },
      { role: 'user', content: [result('c', '1\tlet a;'), result('b', '1\tIt explains itself.')] },
    ];
    const { json } = await send(url, { model: 'sim-coder', max_tokens: 9, tools, messages });
    expect(json).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text' }] });
    expect(JSON.stringify(json)).toContain('> It explains itself.');
  });

  it('reads the calls without ids of the local runtime', async () => {
    const call = { function: { name: 'list_files', arguments: { path: '.' } } };
    const messages = [
      question,
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_name: 'list_files', content: listing },
    ];
    const { json } = await send(`${simulator.url}/api/chat`, {
      model: 'sim-coder',
      tools: functions,
      messages,
      stream: false,
    });
    const calls = read.map((given) => ({ function: { name: 'read_file', arguments: given } }));
    expect(json).toMatchObject({ message: { tool_calls: calls } });
  });

  it('is an ordinary model where no tools are offered', async () => {
    const { text } = await send(`${simulator.url}/v1/chat/completions`, {
      model: 'sim-coder',
      messages: [question],
    });
    expect(text).toContain('You asked');
  });
});
