import { describe, expect, it } from '@jest/globals';
import { readToolCall } from './answer-text.js';

describe('a tool call', () => {
  it.each([
    ['{"at":1}', { at: 1 }],
    ['', {}],
    ['  ', {}],
  ])('is read from %j', (text, input) => {
    expect(readToolCall({ id: 'a', name: 'look', arguments: text })).toEqual({
      ...{ id: 'a', name: 'look', arguments: text, input },
    });
  });

  it.each(['{"at":', '[1]', 'null', '7', '"{\\"at\\":1}"', 'at 1'])(
    'is invalid with %j',
    (text) => {
      expect(readToolCall({ id: 'a', name: 'look', arguments: text })).toEqual({
        ...{ id: 'a', name: 'look', arguments: text, input: {}, invalid: true },
      });
    },
  );
});
