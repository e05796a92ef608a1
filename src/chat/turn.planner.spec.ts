import { describe, expect, it } from '@jest/globals';
import { estimateMessageTokens, estimatingCounter } from '../model/index.js';
import type { ChatMessage } from '../provider/index.js';
import { MessageTooLongError } from './chat.errors.js';
import { addableTokens, historyWindow } from './turn.planner.js';

const question = { role: 'user', content: 'And now?' } as const;
const asked = { message: question };
const unlimited = { contextWindow: undefined, maxAnswer: undefined };

describe('historyWindow', () => {
  it('sends whole exchanges, oldest first, then the question', () => {
    const stored = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'second' },
    ];
    expect(historyWindow(stored, asked, unlimited)).toEqual([...stored, question]);
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
    expect(historyWindow(stored, asked, unlimited)).toEqual([...stored.slice(4), question]);
  });

  it('drops the oldest exchanges that do not fit the window of the model', () => {
    const long = 'word '.repeat(400);
    const stored = [
      { role: 'user', content: long },
      { role: 'assistant', content: long },
      { role: 'user', content: 'short' },
      { role: 'assistant', content: 'fits' },
    ];
    const kept = historyWindow(stored, asked, { contextWindow: 1_000, maxAnswer: 200 });
    expect(kept).toEqual([...stored.slice(2), question]);
  });

  it('sends the steps of an answer with tools, and without them where they do not fit', () => {
    const call = {
      ...{ number: 1, id: 'c1', name: 'search_knowledge', arguments: '{"query":"a"}' },
      ...{ summary: '', durationMs: 1 },
    };
    const step = {
      number: 1,
      text: 'I look.',
      reasoning: null,
      providerState: null,
      inputTokens: 1,
      outputTokens: 1,
    };
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
        asked,
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
    expect(() =>
      historyWindow([], { message: huge }, { contextWindow: 8_000, maxAnswer: undefined }),
    ).toThrow(MessageTooLongError);
    expect(historyWindow([], { message: huge }, unlimited)).toEqual([huge]);
  });

  it('never refuses a question for what was added to it, and leaves out history instead', () => {
    const stored = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
    ];
    const message = { role: 'user', content: `And now?${'='.repeat(40_000)}` } as const;
    const limits = { contextWindow: 8_000, maxAnswer: 1_000 };
    const sent = { message, bare: question, addedTokens: 700 };
    expect(historyWindow(stored, sent, limits)).toEqual([...stored, message]);
    expect(historyWindow(stored, { ...sent, addedTokens: 6_985 }, limits)).toEqual([message]);
  });
});

describe('addableTokens', () => {
  it('are half of what is free beside the question, the prompt and what was added before', () => {
    const limits = { contextWindow: 8_000, maxAnswer: 1_000 };
    const free = 7_000 - estimateMessageTokens(question, estimatingCounter.count);
    const of = (over: object, addedTokens = 0): number =>
      addableTokens({ ...asked, addedTokens }, { ...limits, ...over }, estimatingCounter);
    expect(of({})).toBe(Math.floor(free / 2));
    expect(of({}, 1_000)).toBe(Math.floor((free - 1_000) / 2));
    expect(of({ systemPrompt: 'Be brief.' })).toBeLessThan(of({}));
    expect(of({ maxAnswer: 8_000 })).toBeLessThan(2_000);
    expect(of({}, 20_000)).toBe(0);
  });
});
