/** What a model takes per million tokens, in the currency in which the operator wrote it down. Undefined: not said. */
export interface ModelPrices {
  readonly inputPrice?: number | undefined;
  readonly outputPrice?: number | undefined;
}

export interface CountedTokens {
  /** The whole prompt, cached tokens included. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

const TOKENS_OF_A_PRICE = 1_000_000;

/**
 * What the tokens cost, in the currency of the prices; undefined when a price or a count that it takes is not known,
 * because a sum without it would look like the whole. Tokens from the service's cache count in full: what it takes off
 * for them is not written down.
 */
export function costOf(
  { inputTokens, outputTokens }: CountedTokens,
  { inputPrice, outputPrice }: ModelPrices,
): number | undefined {
  const read = share(inputTokens, inputPrice);
  const written = share(outputTokens, outputPrice);
  return read === undefined || written === undefined ? undefined : read + written;
}

function share(tokens: number | undefined, price: number | undefined): number | undefined {
  if (price === undefined) return undefined;
  if (price === 0 || tokens === 0) return 0;
  return tokens === undefined ? undefined : (tokens * price) / TOKENS_OF_A_PRICE;
}
