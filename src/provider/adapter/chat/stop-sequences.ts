/**
 * Ends the text of one answer before the first of its stop sequences, for services that have none, refuse them, or repeat them at the
 * end. The end of a piece that may begin a sequence comes with a later piece.
 */
export class StopSequences {
  private readonly sequences: readonly string[];
  private held = '';
  /** A sequence has come: nothing more of the text counts. */
  hasStopped = false;

  constructor(sequences: readonly string[]) {
    this.sequences = sequences.filter((sequence) => sequence !== '');
  }

  /** What of the text can be passed on. */
  add(piece: string): string {
    if (this.hasStopped) return '';
    const text = this.held + piece;
    const places = this.sequences.map((sequence) => text.indexOf(sequence)).filter((at) => at >= 0);
    if (places.length > 0) {
      this.hasStopped = true;
      this.held = '';
      return text.slice(0, Math.min(...places));
    }
    const begun = Math.max(0, ...this.sequences.map((sequence) => lengthOfBegun(text, sequence)));
    this.held = text.slice(text.length - begun);
    return text.slice(0, text.length - begun);
  }

  /** What is held back, once nothing follows. */
  end(): string {
    const { held } = this;
    this.held = '';
    return held;
  }
}

/** How many of the last characters may begin the sequence. */
export function lengthOfBegun(text: string, sequence: string): number {
  for (let length = Math.min(text.length, sequence.length - 1); length > 0; length -= 1) {
    if (text.endsWith(sequence.slice(0, length))) return length;
  }
  return 0;
}
