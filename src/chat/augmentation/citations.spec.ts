import { expect, test } from '@jest/globals';
import { citationsIn } from './citations.js';

test.each<[string, number[], number[]]>([
  ['Two years [1].', [1], []],
  ['Two years [2][1], see [1].', [1, 2], []],
  ['A list [1, 3] and【2】、[4、5].', [1, 2, 3], [4, 5]],
  ['Made up [7] and [0].', [], [0, 7]],
  ['A [1](https://example.com) link, an array[10], code[x] and [2024].', [], [10]],
  ['Nothing.', [], []],
])('%j', (answer, cited, unknown) => {
  expect(citationsIn(answer, 3)).toEqual({ cited, unknown });
});
