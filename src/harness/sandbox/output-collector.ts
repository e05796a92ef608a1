/** What is kept of a command's output. */
export const WHOLE_OUTPUT_BYTES = 5 * 2 ** 20;

/** Kept of what comes after that, for the end of the view. */
const LAST_BYTES = 32 * 1_024;
const FIRST_BYTES = 16 * 1_024;

/** Takes output of any length in bounded memory: the first 5 MiB, and the last 32 KiB. */
export class OutputCollector {
  private buffer = Buffer.alloc(FIRST_BYTES);
  private kept = 0;
  /** Of what is not kept. Twice as long as needed, so that it is moved together seldom. */
  private readonly last = Buffer.alloc(2 * LAST_BYTES);
  private lastLength = 0;
  private taken = 0;

  /** Bytes that the command has written. */
  get total(): number {
    return this.taken;
  }

  get discarding(): boolean {
    return this.taken > this.kept;
  }

  add(chunk: Buffer): void {
    this.taken += chunk.length;
    const room = WHOLE_OUTPUT_BYTES - this.kept;
    if (room > 0) this.keep(chunk.subarray(0, room));
    if (chunk.length > room) {
      this.remember(chunk.subarray(Math.max(room, chunk.length - LAST_BYTES)));
    }
  }

  /** The output, or its first 5 MiB and a line that says how much is missing. */
  whole(): Buffer {
    const whole = this.buffer.subarray(0, this.kept);
    if (!this.discarding) return whole;
    const missing = this.taken - this.kept;
    return Buffer.concat([
      whole,
      Buffer.from(`\n[The output went on; ${missing} more bytes were discarded.]\n`),
    ]);
  }

  /** The first bytes of the output. */
  head(bytes: number): Buffer {
    return this.buffer.subarray(0, Math.min(bytes, this.kept));
  }

  /** The last bytes of the output, at most 32 KiB. */
  tail(bytes: number): Buffer {
    const wanted = Math.min(bytes, LAST_BYTES);
    const before = this.buffer.subarray(Math.max(0, this.kept - wanted), this.kept);
    return Buffer.concat([before, this.last.subarray(0, this.lastLength)]).subarray(-wanted);
  }

  private keep(chunk: Buffer): void {
    const needed = this.kept + chunk.length;
    if (needed > this.buffer.length) {
      const grown = Buffer.alloc(
        Math.min(Math.max(needed, this.buffer.length * 2), WHOLE_OUTPUT_BYTES),
      );
      this.buffer.copy(grown, 0, 0, this.kept);
      this.buffer = grown;
    }
    chunk.copy(this.buffer, this.kept);
    this.kept = needed;
  }

  /** At most 32 KiB at a time. */
  private remember(rest: Buffer): void {
    if (this.lastLength + rest.length > this.last.length) {
      this.last.copyWithin(0, this.lastLength - LAST_BYTES, this.lastLength);
      this.lastLength = LAST_BYTES;
    }
    rest.copy(this.last, this.lastLength);
    this.lastLength += rest.length;
  }
}
