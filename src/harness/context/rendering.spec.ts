import { describe, expect, it } from '@jest/globals';
import { Conversation, UnpairedCallError } from './rendering.js';
import type { TurnMessage } from '../store/message.repository.js';

let sequence = 0;

function message(fields: Partial<TurnMessage> & Pick<TurnMessage, 'role'>): TurnMessage {
  sequence += 1;
  return {
    id: `m${sequence}`,
    sequence,
    content: '',
    toolCalls: [],
    toolCallId: null,
    toolName: null,
    toolError: false,
    usage: null,
    metadata: {},
    providerState: null,
    pruned: false,
    ...fields,
  };
}

const asked = message({ role: 'USER', metadata: { kind: 'INITIAL' } });
const read = { toolCallId: 'a', toolName: 'read_file', arguments: '{"path":"x"}' };
const calls = message({ role: 'ASSISTANT', toolCalls: [read, { ...read, toolCallId: 'b' }] });
const first = message({ role: 'TOOL', toolCallId: 'b', content: 'of b' });
const steer = message({ role: 'USER', metadata: { kind: 'STEER' } });
const second = message({ role: 'TOOL', toolCallId: 'a', content: 'of a' });

describe('Conversation', () => {
  it('puts results to their calls, in the order of the calls', () => {
    const { initial, units } = Conversation.of([asked, calls, first, steer, second]);
    expect(initial).toBe(asked);
    expect(units.map(({ message: { role } }) => role)).toEqual(['ASSISTANT', 'USER']);
    expect(units[0]?.results.map(({ content }) => content)).toEqual(['of a', 'of b']);
    expect(units[0]?.calls[0]).toEqual({
      id: 'a',
      name: 'read_file',
      arguments: '{"path":"x"}',
      input: { path: 'x' },
    });
  });

  it.each([
    ['a call without a result', [asked, calls, first]],
    ['a call with two results', [asked, calls, first, first, second]],
    [
      'a result without a call',
      [asked, calls, first, second, message({ role: 'TOOL', toolCallId: 'c' })],
    ],
  ])('refuses %s', (_, messages) => {
    expect(() => Conversation.of(messages)).toThrow(UnpairedCallError);
  });

  it.each(['{"path": "a', '[]', 'null', 'x'])('repairs nothing: %s', (text) => {
    const cut = message({ role: 'ASSISTANT', toolCalls: [{ ...read, arguments: text }] });
    const [unit] = Conversation.of([asked, cut, second]).units;
    expect(unit?.calls).toEqual([
      { id: 'a', name: 'read_file', arguments: text, input: {}, invalid: true },
    ]);
  });
});
