import { describe, expect, it } from '@jest/globals';
import type { ChatMessage } from '../provider/index.js';
import { MessageTooLongError } from './chat.errors.js';
import { historyWindow } from './chat.history.js';

const question = { role: 'user', content: 'And now?' } as const;
const unlimited = { contextWindow: undefined, maxAnswer: undefined };

describe('historyWindow', () => {
  it('sends whole exchanges, oldest first, then the question', () => {
    const stored = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'second' },
    ];
    expect(historyWindow(stored, question, unlimited)).toEqual([...stored, question]);
  });

  it('leaves out a question without an answer, an empty answer, and an answer whose question was cut off', () => {
    const stored = [
      { role: 'assistant', content: 'of a question outside the window' },
      { role: 'user', content: 'failed' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'never answered' },
      { role: 'user', content: 'kept' },
      { role: 'assistant', content: 'answer' },
    ];
    expect(historyWindow(stored, question, unlimited)).toEqual([...stored.slice(4), question]);
  });

  it('drops the oldest exchanges that do not fit the window of the model', () => {
    const long = 'word '.repeat(400);
    const stored = [
      { role: 'user', content: long },
      { role: 'assistant', content: long },
      { role: 'user', content: 'short' },
      { role: 'assistant', content: 'fits' },
    ];
    const kept = historyWindow(stored, question, { contextWindow: 1_000, maxAnswer: 200 });
    expect(kept).toEqual([...stored.slice(2), question]);
  });

  it('sends the steps of an answer with tools, and without them where they do not fit', () => {
    const call = {
      ...{ number: 1, id: 'c1', name: 'search_knowledge', arguments: '{"query":"a"}' },
      ...{ summary: '', durationMs: 1 },
    };
    const step = { number: 1, text: 'I look.', reasoning: null, inputTokens: 1, outputTokens: 1 };
    const answered = (content: string, result: string): ChatMessage[] =>
      historyWindow(
        [
          { role: 'user', content: 'Where?' },
          {
            role: 'assistant',
            content,
            steps: [{ ...step, calls: [{ ...call, state: 'done', content: result }] }],
          },
        ],
        question,
        { contextWindow: 1_000, maxAnswer: 200 },
      );
    const made = { id: 'c1', name: 'search_knowledge', arguments: '{"query":"a"}' };
    const messages = [
      { role: 'user', content: 'Where?' },
      { role: 'assistant', content: 'I look.', toolCalls: [{ ...made, input: { query: 'a' } }] },
      {
        ...{ role: 'tool', toolCallId: 'c1', name: 'search_knowledge' },
        content: '<fragment document="a">',
      },
    ];
    const found = '<fragment number="3" document="a">';
    const ending = (content: string): object[] => [{ role: 'assistant', content }, question];

    expect(answered('I look.\n\nThere.', found)).toEqual([...messages, ...ending('There.')]);
    expect(answered('I look.', found)).toEqual([
      ...messages,
      ...ending('The answer was interrupted.'),
    ]);
    const texts = [{ role: 'user', content: 'Where?' }, ...ending('Edited.')];
    expect(answered('Edited.', found)).toEqual(texts);
    const long = answered('I look.\n\nThere.', 'word '.repeat(4_000));
    expect(long).toEqual([{ role: 'user', content: 'Where?' }, ...ending('I look.\n\nThere.')]);
  });

  it('refuses a question that alone exceeds a known window, and sends it when the window is unknown', () => {
    const huge = { role: 'user', content: '字'.repeat(40_000) } as const;
    expect(() => historyWindow([], huge, { contextWindow: 8_000, maxAnswer: undefined })).toThrow(
      MessageTooLongError,
    );
    expect(historyWindow([], huge, unlimited)).toEqual([huge]);
  });
});
