/**
 * Ends the text of one answer before the first of its stop sequences, for services that have none, refuse them, or repeat them at the
 * end. The end of a piece that may begin a sequence comes with a later piece.
 */
export class StopSequences {
  private readonly sequences: readonly string[];
  private buffer = '';
  /** A sequence has come: nothing more of the text counts. */
  hasStopped = false;

  constructor(sequences: readonly string[]) {
    this.sequences = sequences.filter((sequence) => sequence !== '');
  }

  /** Adds a piece and returns the text that can be passed on. */
  add(piece: string): string {
    if (this.hasStopped) return '';
    const text = this.buffer + piece;
    const places = this.sequences.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0);
    if (places.length > 0) {
      this.hasStopped = true;
      this.buffer = '';
      return text.slice(0, Math.min(...places));
    }
    const partialLength = Math.max(
      0,
      ...this.sequences.map((sequence) => lengthOfBegun(text, sequence)),
    );
    this.buffer = text.slice(text.length - partialLength);
    return text.slice(0, text.length - partialLength);
  }

  /** Returns the buffered text, once nothing follows. */
  end(): string {
    const { buffer } = this;
    this.buffer = '';
    return buffer;
  }
}

/** The number of last characters that may begin the sequence. */
export function lengthOfBegun(text: string, sequence: string): number {
  for (let length = Math.min(text.length, sequence.length - 1); length > 0; length -= 1) {
    if (text.endsWith(sequence.slice(0, length))) return length;
  }
  return 0;
}
