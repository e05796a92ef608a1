/** The vectors of one dimension of one knowledge base: what is held in memory and searched as a whole. */
export interface VectorSet {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly dimension: number;
}

/**
 * What a set holds, told without reading it: the stamps of its vectors joined by exclusive or. Every write gives a row
 * a new random stamp of 48 bits, so that two different sets of rows have the same state with a chance of 2^-48.
 */
export interface SetState {
  readonly count: number;
  readonly stamps: number;
}

export const STAMP_BITS = 48;

export function isSameState(a: SetState, b: SetState): boolean {
  return a.count === b.count && a.stamps === b.stamps;
}

/** Exclusive or of numbers of 48 bits, of which the operator takes but 32. */
export function joined(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 32) ^ Math.floor(b / 2 ** 32);
  return high * 2 ** 32 + ((a ^ b) >>> 0);
}
