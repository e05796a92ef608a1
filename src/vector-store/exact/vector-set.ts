/** The vectors of one dimension of one knowledge base: the unit that is cached and searched. */
export interface VectorSet {
  readonly tenantId: string;
  readonly knowledgeId: number;
  readonly dimension: number;
}

/**
 * A digest of the content of a set: the exclusive or of the stamps of its vectors. Every write gives a row a new random
 * stamp of 48 bits, so two different sets of rows have the same digest with a probability of 2^-48.
 */
export interface SetState {
  readonly count: number;
  readonly stamps: number;
}

export const STAMP_BITS = 48;

export function isSameState(a: SetState, b: SetState): boolean {
  return a.count === b.count && a.stamps === b.stamps;
}

/** Exclusive or of 48-bit numbers; the operator works on 32 bits. */
export function joined(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 32) ^ Math.floor(b / 2 ** 32);
  return high * 2 ** 32 + ((a ^ b) >>> 0);
}
