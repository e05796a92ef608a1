import { describe, expect, it } from '@jest/globals';
import type { StoredCall } from './message.entity.js';
import { stepMessages } from './turn.steps.js';

const CALL: StoredCall = {
  number: 1,
  id: 'a',
  name: 'look',
  arguments: '{"at":1}',
  state: 'failed',
  content: 'Nothing.',
  summary: 'Nothing',
  durationMs: 1,
};

function messages(
  call: Partial<StoredCall>,
  data?: Record<string, unknown>,
): ReturnType<typeof stepMessages> {
  return stepMessages({
    number: 1,
    text: 'I look.',
    reasoning: null,
    calls: [{ ...CALL, ...call }],
    providerState: data ? { origin: 'messages', data } : null,
    inputTokens: null,
    outputTokens: null,
  });
}

describe('the messages of a step', () => {
  it('have what the service wants back with its answer', () => {
    const state = { origin: 'messages', data: { blocks: [{ signature: 'c2ln' }] } };
    expect(messages({}, state.data)[0]).toEqual({
      ...{ role: 'assistant', content: 'I look.', providerState: state },
      toolCalls: [{ id: 'a', name: 'look', arguments: '{"at":1}', input: { at: 1 } }],
    });
    expect(messages({})[0]).not.toHaveProperty('providerState');
  });

  it.each(['{"at":', '[1]', '"{}"', 'at 1'])(
    'have an invalid call as it was written: %s',
    (text) => {
      expect(messages({ arguments: text })).toEqual([
        {
          ...{ role: 'assistant', content: 'I look.' },
          toolCalls: [{ id: 'a', name: 'look', arguments: text, input: {}, invalid: true }],
        },
        { role: 'tool', toolCallId: 'a', name: 'look', content: 'Nothing.' },
      ]);
    },
  );
});
