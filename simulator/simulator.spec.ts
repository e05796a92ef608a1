import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { type Simulator, startSimulator } from './index.js';
import { open, send, until } from './wire-client.js';

const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(() => simulator.reset());
afterAll(() => simulator.close());

const url = () => `${simulator.url}/v1/chat/completions`;

describe('simulator', () => {
  it('uses up scripted steps for the requests they match', async () => {
    simulator.script(
      { match: { model: 'other' }, status: 500 },
      { match: { path: '/chat/completions' }, status: 418, headers: { 'x-a': 'b' }, body: 'tea' },
    );
    const first = await send(url(), body);
    expect([first.status, first.text, first.headers['x-a']]).toEqual([418, 'tea', 'b']);
    expect((await send(url(), body)).status).toBe(200);
    expect((await send(url(), { ...body, model: 'other' })).status).toBe(500);
  });

  it('repeats a step, keeps it for requests with tools, and reports what it is told to', async () => {
    const tools = [{ type: 'function', function: { name: 'go', parameters: {} } }];
    const call = { id: 'again', name: 'go', arguments: '{"cut": "of' };
    simulator.script({
      match: { tools: true },
      times: 2,
      toolCalls: [call, call],
      finishReason: 'length',
      inputTokens: 7,
      outputTokens: 9,
    });
    expect((await send(url(), body)).text).not.toContain('again');
    const cut = { id: 'again', function: { arguments: call.arguments } };
    const whole = {
      choices: [{ finish_reason: 'length', message: { tool_calls: [cut, cut] } }],
      usage: { prompt_tokens: 7, completion_tokens: 9 },
    };
    expect((await send(url(), { ...body, tools })).json).toMatchObject(whole);
    expect((await send(url(), { ...body, tools })).json).toMatchObject(whole);
    expect((await send(url(), { ...body, tools })).text).not.toContain('again');
  });

  it('breaks off in the middle of a tool call', async () => {
    const toolCalls = [{ name: 'go', arguments: '{"a":1,"b":2,"c":3}' }];
    simulator.script({ text: 'one two ', toolCalls, reset: 3 });
    const { text, broken } = await send(url(), { ...body, stream: true });
    expect(broken).toBe('ECONNRESET');
    expect(text).toContain('{\\"a\\":1');
    expect(text).not.toContain('finish_reason":"');
  });

  it('is steered over HTTP too', async () => {
    const control = (path: string, json?: typeof body) =>
      send(`${simulator.url}/__${path}`, json, { 'x-api-key': '' });
    const steps = [{ text: 'scripted' }];
    expect((await send(`${simulator.url}/__script`, steps)).json).toEqual({ queued: 1 });
    expect((await send(`${simulator.url}/__script`, [{ txet: 1 }])).status).toBe(400);
    expect((await send(url(), body)).text).toContain('scripted');
    const [recorded] = JSON.parse((await control('requests')).text) as unknown[];
    expect(recorded).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer key' },
      body,
      model: 'm',
      status: 200,
      ended: 'completed',
    });
    expect((await control('stats')).json).toEqual({ open: 0, total: 1 });
    await send(`${simulator.url}/__reset`, {});
    expect(simulator.requests).toEqual([]);
  });

  it('waits for a slow reader instead of filling memory', async () => {
    const huge = { ...body, model: 'sim--chunks-200000', stream: true };
    const response = await open(url(), huge);
    const sent = () => simulator.requests[0]?.bytesSent ?? 0;
    let before = -1;
    // The kernel takes a few megabytes before the writer has to wait.
    while (sent() !== before) {
      before = sent();
      await setTimeout(200);
    }
    expect(simulator.requests[0]?.ended).toBe('open');
    response.destroy();
    await until(() => simulator.openConnections() === 0);
    expect(sent()).toBe(before);
  });

  it('ends hanging and slow streams when it is closed', async () => {
    const other = await startSimulator();
    const models = ['sim--stall-0', 'sim--first-60000--comments-60000', 'sim--delay-60000'];
    for (const model of models) {
      const response = await open(`${other.url}/chat/completions`, {
        ...body,
        model,
        stream: true,
      });
      response.on('error', () => undefined).resume();
    }
    expect(other.openConnections()).toBe(3);
    await other.close();
    expect(other.openConnections()).toBe(0);
    await expect(send(other.url)).rejects.toThrow('ECONNREFUSED');
  });

  it('lists models', async () => {
    const plain = await send(`${simulator.url}/v1/models`, undefined, { 'anthropic-version': '' });
    expect(plain.json).toMatchObject({ object: 'list' });
    expect((await send(`${simulator.url}/v1/models`)).json).toMatchObject({ has_more: false });
  });
});
