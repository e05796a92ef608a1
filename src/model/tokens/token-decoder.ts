import { setImmediate } from 'node:timers/promises';

/**
 * The texts of lists of token ids of `cl100k_base`, the vocabulary of OpenAI's embedding models, in their order; undefined for a list with an id
 * that it does not have. Bytes that are no whole character, at the end of a list that was cut, become U+FFFD. The first call
 * loads the vocabulary. Other work goes on between two lists.
 */
export async function textsOfTokens(
  lists: readonly (readonly number[])[],
): Promise<(string | undefined)[]> {
  const { default: vocabulary } = await import('gpt-tokenizer/bpeRanks/cl100k_base');
  const texts: (string | undefined)[] = [];
  for (const ids of lists) {
    texts.push(textOf(ids, vocabulary));
    await setImmediate();
  }
  return texts;
}

// The decoder of the library keeps the bytes of an unfinished character for the next text.
function textOf(
  ids: readonly number[],
  vocabulary: readonly (string | readonly number[])[],
): string | undefined {
  const pieces: Buffer[] = [];
  for (const id of ids) {
    const piece = vocabulary[id];
    if (piece === undefined) return undefined;
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString();
}
