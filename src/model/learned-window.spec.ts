import { describe, expect, it } from '@jest/globals';
import { UpstreamError } from '../provider/index.js';
import type { ChatMessage } from '../provider/index.js';
import { literal } from '../platform/message/index.js';
import { estimateMessageTokens, LearnedWindow, REMOVED_RESULT, shortened } from './model-window.js';

const words = (count: number): string => 'word '.repeat(count);
const user = (content: string): ChatMessage => ({ role: 'user', content });
const calls = (id: string, result: string): ChatMessage[] => [
  {
    ...{ role: 'assistant', content: '' },
    toolCalls: [{ id, name: 'look', arguments: '{}', input: {} }],
    providerState: { origin: 'x', data: { id } },
  },
  { role: 'tool', toolCallId: id, name: 'look', content: result },
];
const answer = (content: string): ChatMessage => ({ role: 'assistant', content });
const PROMPT: ChatMessage = { role: 'system', content: 'Be brief.' };
const LONG: ChatMessage[] = [
  PROMPT,
  ...[user('one'), ...calls('a', words(100)), answer(words(100))],
  ...[user('two'), answer(words(100))],
  ...[user('three'), ...calls('b', words(200)), ...calls('c', words(100))],
];
const tokensOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
const error = new UpstreamError({ kind: 'context-length', message: literal('Too long.') });

describe('a conversation that is too long', () => {
  it.each([
    ['the oldest exchange first', 50, [PROMPT, ...LONG.slice(5)]],
    ['every exchange', 300, [PROMPT, ...LONG.slice(7)]],
    [
      'the oldest result of the last question',
      450,
      [PROMPT, user('three'), ...calls('b', REMOVED_RESULT), ...calls('c', words(100))],
    ],
    [
      'no more than there is',
      100_000,
      [PROMPT, user('three'), ...calls('b', REMOVED_RESULT), ...calls('c', REMOVED_RESULT)],
    ],
  ])('leaves out %s', (_what, excess, expected) => {
    expect(shortened(LONG, tokensOf(LONG) - excess)).toEqual(expected);
  });

  it('stays where it fits, or nothing can be left out', () => {
    expect(shortened(LONG, tokensOf(LONG))).toBeUndefined();
    expect(shortened([PROMPT, user(words(500))], 10)).toBeUndefined();
  });

  it('is sent again with half of it, and the next call of the turn with no more', () => {
    const window = new LearnedWindow();
    const first = window.call(LONG);
    expect(first.messages).toBe(LONG);
    first.overflow(error);
    expect(tokensOf(first.messages)).toBeLessThanOrEqual(tokensOf(LONG) / 2);

    const next = window.call([...LONG, ...calls('d', words(100))]);
    expect(tokensOf(next.messages)).toBeLessThanOrEqual(tokensOf(LONG) / 2);
    expect(next.messages).toContainEqual(user('three'));
  });

  it('fails a second time, or where nothing can be left out, with what to do', () => {
    const call = new LearnedWindow().call(LONG);
    call.overflow(error);
    expect(() => call.overflow(error)).toThrow(
      /^Too long\. Nothing more .* a model with a larger context window\.$/,
    );
    const alone = new LearnedWindow().call([user(words(500))]);
    expect(() => alone.overflow(error)).toThrow('Start a new conversation');
  });
});
