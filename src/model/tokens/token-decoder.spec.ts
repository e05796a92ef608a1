import { describe, expect, it } from '@jest/globals';
import { encode } from 'gpt-tokenizer/encoding/cl100k_base';
import { SAMPLES } from '../../../test/support/token-samples.js';
import { textsOfTokens } from './token-decoder.js';

describe('the texts of token ids', () => {
  it('are those that the ids were made from, in every script', async () => {
    const texts = [...Object.values(SAMPLES), 'An emoji 🎉, NUL \0 and a\r\nline.'];
    expect(await textsOfTokens(texts.map((text) => encode(text)))).toEqual(texts);
  });

  it('have a mark for half of a character, and nothing of the list before', async () => {
    const ids = encode('🎉');
    expect(ids.length).toBeGreaterThan(1);
    const [first = 0, ...rest] = ids;
    const [begin, end, whole] = await textsOfTokens([[first], rest, encode('Hello')]);
    expect([begin, end]).toEqual([
      expect.stringMatching(/^\ufffd+$/),
      expect.stringMatching(/^\ufffd+$/),
    ]);
    expect(whole).toBe('Hello');
  });

  // 100,257 is a control token, which stands for no text.
  it.each([-1, 1.5, 100_256, 100_257, 2 ** 40])('are undefined with the id %d', async (id) => {
    expect(await textsOfTokens([[9906], [9906, id]])).toEqual(['Hello', undefined]);
  });
});
