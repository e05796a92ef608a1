/** How a line ends; only the last one of a text may have no end. */
export type LineEnd = '' | '\n' | '\r\n';

/** The lines of a text, which only `\n` and `\r\n` end. Takes four bytes for each, beside the text. */
export class TextLines implements Iterable<string> {
  readonly length: number;
  /** Where each line begins, and where the last one ends. */
  private readonly starts: Uint32Array;

  constructor(private readonly text: string) {
    let length = text === '' || text.endsWith('\n') ? 0 : 1;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) length += 1;
    this.length = length;
    this.starts = new Uint32Array(length + 1);
    for (let index = 0; index < length; index += 1) {
      const end = text.indexOf('\n', this.start(index));
      this.starts[index + 1] = end < 0 ? text.length : end + 1;
    }
  }

  /** Each without what ends it. */
  *[Symbol.iterator](): Generator<string, undefined> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index);
  }

  /** The line without what ends it; empty behind the last one. */
  at(index: number): string {
    return this.text.slice(this.start(index), this.start(index + 1) - this.end(index).length);
  }

  /** What ends the line; empty before the first and behind the last one. */
  end(index: number): LineEnd {
    const next = this.starts[index + 1];
    if (index < 0 || next === undefined || this.text[next - 1] !== '\n') return '';
    return next - 2 >= this.start(index) && this.text[next - 2] === '\r' ? '\r\n' : '\n';
  }

  /** Where the line begins in the text; the length of the text behind the last one. */
  start(index: number): number {
    return this.starts[index] ?? this.text.length;
  }

  /** The lines from the one to before the other, without what ends them. */
  slice(from: number, to = this.length): string[] {
    const lines: string[] = [];
    for (let index = from; index < Math.min(to, this.length); index += 1)
      lines.push(this.at(index));
    return lines;
  }

  /** The part of the text from the one line to before the other. */
  part(from: number, to = this.length): string {
    return this.text.slice(this.start(from), this.start(to));
  }
}

/** Lines that occur more often say nothing about a place, and following each of them would take long. */
const MOST_ALIKE = 50;

/** Where a line is, by its index; nowhere if it occurs more than 50 times. */
export type Places = (line: string) => readonly number[];

/** Where those lines are that are wanted: no others can be asked for. */
export function placesOf(lines: Iterable<string>, wanted: readonly string[]): Places {
  const places = new Map<string, number[]>(wanted.map((line) => [line, []]));
  let at = 0;
  for (const line of lines) {
    const known = places.get(line);
    if (known && known.length <= MOST_ALIKE) known.push(at);
    at += 1;
  }
  return (line) => {
    const found = places.get(line) ?? [];
    return found.length > MOST_ALIKE ? [] : found;
  };
}
