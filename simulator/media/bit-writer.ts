/** Writes the bit strings of H.264: plain bits and Exp-Golomb numbers. */
export class BitWriter {
  private readonly bytes: number[] = [];
  private current = 0;
  private used = 0;

  bits(value: number, count: number): this {
    for (let i = count - 1; i >= 0; i -= 1) {
      this.current = (this.current << 1) | ((value >> i) & 1);
      this.used += 1;
      if (this.used === 8) this.closeByte();
    }
    return this;
  }

  /** Unsigned Exp-Golomb, ue(v). */
  number(value: number): this {
    const length = 32 - Math.clz32(value + 1);
    return this.bits(0, length - 1).bits(value + 1, length);
  }

  numbers(...values: number[]): this {
    for (const value of values) this.number(value);
    return this;
  }

  alignWithZeros(): this {
    while (this.used > 0) this.bits(0, 1);
    return this;
  }

  /** Whole bytes; the position must be aligned. */
  raw(value: number, count: number): this {
    for (let i = 0; i < count; i += 1) this.bytes.push(value);
    return this;
  }

  /** The bytes, closed by the stop bit. */
  finish(): Buffer {
    this.bits(1, 1).alignWithZeros();
    return Buffer.from(this.bytes);
  }

  private closeByte(): void {
    this.bytes.push(this.current);
    this.current = 0;
    this.used = 0;
  }
}
