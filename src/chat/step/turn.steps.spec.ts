import { describe, expect, it } from '@jest/globals';
import { stepMessages, TurnSteps } from './turn.steps.js';

const CALL = { number: 1, id: 'a', name: 'look', arguments: '{"at":1}' };

function stored(
  call: Partial<typeof CALL>,
  data?: Record<string, unknown>,
): ReturnType<typeof stepMessages> {
  const steps = new TurnSteps();
  const providerState = data && { origin: 'messages', data };
  const answer = { text: 'I look.', reasoning: '', usage: undefined, providerState };
  steps.add(answer, [{ ...CALL, ...call }]);
  steps.end({ number: 1, state: 'failed', content: 'Nothing.', summary: 'Nothing', durationMs: 1 });
  // As the database gives it back.
  return (JSON.parse(JSON.stringify(steps.all)) as typeof steps.all).flatMap(stepMessages);
}

describe('the messages of a step', () => {
  it('have what the service wants back with its answer', () => {
    const state = { origin: 'messages', data: { blocks: [{ signature: 'c2ln' }] } };
    expect(stored({}, state.data)[0]).toEqual({
      ...{ role: 'assistant', content: 'I look.', providerState: state },
      toolCalls: [{ id: 'a', name: 'look', arguments: '{"at":1}', input: { at: 1 } }],
    });
    expect(stored({})[0]).not.toHaveProperty('providerState');
  });

  it.each(['{"at":', '[1]', '"{}"', 'at 1'])(
    'have an invalid call as it was written: %s',
    (text) => {
      expect(stored({ arguments: text })).toEqual([
        {
          ...{ role: 'assistant', content: 'I look.' },
          toolCalls: [{ id: 'a', name: 'look', arguments: text, input: {}, invalid: true }],
        },
        { role: 'tool', toolCallId: 'a', name: 'look', content: 'Nothing.' },
      ]);
    },
  );
});
