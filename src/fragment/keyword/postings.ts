/** That a fragment has a term. */
export interface Posting {
  readonly fragmentId: number;
  /** How often it has the term. */
  readonly frequency: number;
  /** How many terms it has in all. */
  readonly length: number;
}

/** Three numbers in base 128, lowest digits first; all but the last one of a number have the highest bit set. */
export function packPostings(postings: readonly Posting[]): Buffer {
  const bytes: number[] = [];
  for (const { fragmentId, frequency, length } of postings) {
    packNumber(bytes, fragmentId);
    packNumber(bytes, frequency);
    packNumber(bytes, length);
  }
  return Buffer.from(bytes);
}

/** Calls `visit` for each posting, in the order in which they were packed. */
export function readPostings(
  bytes: Buffer,
  visit: (fragmentId: number, frequency: number, length: number) => void,
): void {
  let at = 0;
  const next = (): number => {
    let number = 0;
    // Ids exceed the 32 bits that shifting works on.
    for (let weight = 1; ; weight *= 128) {
      const byte = bytes[at] ?? 0;
      at += 1;
      number += (byte & 127) * weight;
      if (byte < 128) return number;
    }
  };
  while (at < bytes.length) visit(next(), next(), next());
}

/** The postings of other fragments, and how many terms the taken ones have in all, by fragment. */
export function withoutFragments(
  bytes: Buffer,
  taken: ReadonlySet<number>,
  lengths: Map<number, number>,
): Buffer {
  const kept: Posting[] = [];
  readPostings(bytes, (fragmentId, frequency, length) => {
    if (taken.has(fragmentId)) lengths.set(fragmentId, length);
    else kept.push({ fragmentId, frequency, length });
  });
  return packPostings(kept);
}

function packNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}
