import { describe, expect, it } from '@jest/globals';
import { AdaptedBody } from './refused-parameters.js';

const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } };
const QUESTION = { role: 'user', content: 'What is the moon?' };
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'A rock.' };

/** The body after the service has refused it with the text. */
function adapted(body: Record<string, unknown>, message: string): AdaptedBody {
  const result = new AdaptedBody({ model: 'm', ...body });
  result.adapt(JSON.stringify({ error: { message, type: 'invalid_request_error' } }));
  return result;
}

describe('a conversation without what its model thought', () => {
  it.each([
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'Missing `reasoning_content` field in the assistant message at message index 2.',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  ])('gets empty reasoning: %s', (refusal) => {
    const kept = { role: 'assistant', content: 'A.', reasoning_content: 'Thought.' };
    const body = { messages: [QUESTION, { role: 'assistant', tool_calls: [CALL] }, RESULT, kept] };
    const { body: sent, learned, leftOut } = adapted(body, refusal);

    expect(sent).toMatchObject({
      messages: [QUESTION, { tool_calls: [CALL], reasoning_content: '' }, RESULT, kept],
    });
    expect([...learned]).toEqual([['reasoning_content', 'filled in']]);
    expect(leftOut).toEqual([]);
    // The next call needs no refusal.
    expect(new AdaptedBody({ model: 'm', ...body }, learned).body).toEqual(sent);
  });

  it('gets the signature that Google takes for calls of others', () => {
    const own = { ...CALL, id: 'call_2', extra_content: { google: { thought_signature: 'own' } } };
    const body = {
      messages: [
        QUESTION,
        { role: 'assistant', tool_calls: [CALL, { ...CALL, id: 'call_1b' }] },
        { role: 'assistant', tool_calls: [own] },
      ],
    };
    const { body: sent } = adapted(
      body,
      'Function call is missing a thought_signature in functionCall parts. Additional data, function call `default_api:look_up`.',
    );

    const google = { thought_signature: 'skip_thought_signature_validator' };
    expect(sent).toMatchObject({
      messages: [
        QUESTION,
        { tool_calls: [{ ...CALL, extra_content: { google } }, { id: 'call_1b' }] },
        { tool_calls: [own] },
      ],
    });
  });

  it('goes on without thinking in the messages protocol, which is said where it was asked for', () => {
    const messages = [QUESTION, { role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] }];
    const refusal =
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.';
    const byDefault = adapted({ messages }, refusal);
    expect(byDefault.body).toMatchObject({ thinking: { type: 'disabled' } });
    expect(byDefault.leftOut).toEqual([]);
    // The next conversation may have its thinking.
    expect(byDefault.learned.size).toBe(0);

    const thinking = { type: 'enabled', budget_tokens: 1_024 };
    expect(adapted({ messages, thinking }, refusal).leftOut).toEqual(['thinking']);
  });
});
