const BYTES_PER_TOKEN = 4;

/** A plausible token count for a text: never less than one. */
export function estimateTokens(text: string): number {
  return Math.max(1, Math.round(Buffer.byteLength(text) / BYTES_PER_TOKEN));
}
