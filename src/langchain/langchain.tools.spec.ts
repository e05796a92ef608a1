import { ToolMessage } from '@langchain/core/messages';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { langchainTool, toToolDefinitions } from './langchain.tools.js';
import type { LangChainToolCall } from './langchain.tools.js';

const INPUT = z.strictObject({
  city: z.string().describe('Its name'),
  days: z.number().default(1),
});
const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string', description: 'Its name' },
    days: { type: 'number', default: 1 },
  },
  required: ['city'],
  additionalProperties: false,
};

class Storm extends Error {}

function weather(run: (input: z.output<typeof INPUT>, call: LangChainToolCall) => Promise<string>) {
  return langchainTool({ name: 'get_weather', description: 'Weather', input: INPUT, run });
}

describe('a tool for LangChain', () => {
  const call = { type: 'tool_call', id: 'call_a', name: 'get_weather' } as const;

  it('runs with checked input, the id of its call and a signal', async () => {
    const { signal } = new AbortController();
    let seen: unknown;
    const tool = weather((input, given) => {
      seen = [input, given.id, given.signal];
      return Promise.resolve('It rains.');
    });
    const answer: unknown = await tool.invoke({ ...call, args: { city: 'Paris' } }, { signal });
    expect(seen).toEqual([{ city: 'Paris', days: 1 }, 'call_a', signal]);
    expect(answer).toBeInstanceOf(ToolMessage);
    expect(answer).toMatchObject({
      content: 'It rains.',
      tool_call_id: 'call_a',
      status: 'success',
    });
    expect(await tool.invoke({ city: 'Paris' })).toBe('It rains.');
  });

  it('fails with the error of the tool itself', async () => {
    const storm = new Storm('A storm.');
    const tool = weather(() => Promise.reject(storm));
    await expect(tool.invoke({ ...call, args: { city: 'Paris' } })).rejects.toBe(storm);
  });

  it.each([{ city: 1 }, { city: 'Paris', more: true }, {}, 'Paris'])(
    'does not run with %j',
    async (args) => {
      let runs = 0;
      const tool = weather(() => {
        runs += 1;
        return Promise.resolve('');
      });
      await expect(tool.invoke(args as never)).rejects.toThrow('did not match expected schema');
      expect(runs).toBe(0);
    },
  );

  it.each([
    ['a tool', weather(() => Promise.resolve(''))],
    ['a zod schema', { name: 'get_weather', description: 'Weather', schema: INPUT }],
    ['a JSON schema', { name: 'get_weather', description: 'Weather', schema: SCHEMA }],
    [
      'the form of chat-completions',
      {
        type: 'function',
        function: { name: 'get_weather', description: 'Weather', parameters: SCHEMA },
      },
    ],
    ['our own form', { name: 'get_weather', description: 'Weather', inputSchema: SCHEMA }],
  ])('is offered from %s', (_form, tool) => {
    expect(toToolDefinitions([tool])).toEqual([
      { name: 'get_weather', description: 'Weather', inputSchema: SCHEMA },
    ]);
  });
});
