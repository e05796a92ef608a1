import { describe, expect, it } from '@jest/globals';
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

  it('refuses a question that alone exceeds a known window, and sends it when the window is unknown', () => {
    const huge = { role: 'user', content: '字'.repeat(40_000) } as const;
    expect(() => historyWindow([], huge, { contextWindow: 8_000, maxAnswer: undefined })).toThrow(
      MessageTooLongError,
    );
    expect(historyWindow([], huge, unlimited)).toEqual([huge]);
  });
});
