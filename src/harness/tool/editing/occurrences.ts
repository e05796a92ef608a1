/**
 * Where the pattern begins in the sequence, overlapping ones included, by Knuth, Morris and Pratt: the time is that of
 * reading both once, whatever a model or a file makes up. Empty for an empty pattern.
 */
export function occurrences(sequence: ArrayLike<number>, pattern: ArrayLike<number>): number[] {
  const { length } = pattern;
  if (length === 0 || length > sequence.length) return [];
  const borders = bordersOf(pattern);
  const found: number[] = [];
  let matched = 0;
  for (let at = 0; at < sequence.length; at += 1) {
    while (matched > 0 && sequence[at] !== pattern[matched]) matched = borders[matched - 1] ?? 0;
    if (sequence[at] === pattern[matched]) matched += 1;
    if (matched < length) continue;
    found.push(at - length + 1);
    matched = borders[matched - 1] ?? 0;
  }
  return found;
}

/** For every beginning of the pattern, the length of its longest proper beginning that also ends it. */
function bordersOf(pattern: ArrayLike<number>): Int32Array {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    while (length > 0 && pattern[at] !== pattern[length]) length = borders[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** A text as a sequence of its UTF-16 code units. */
export function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  return codes;
}

/** Turns lines into numbers, the same line into the same number. */
export class LineNumbers {
  private readonly numbers = new Map<string, number>();

  of(lines: readonly string[]): Int32Array {
    return Int32Array.from(lines, (line) => {
      const known = this.numbers.get(line);
      if (known !== undefined) return known;
      this.numbers.set(line, this.numbers.size);
      return this.numbers.size - 1;
    });
  }
}
