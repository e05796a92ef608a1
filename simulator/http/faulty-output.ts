import type { Behaviour } from '../behaviour/behaviour.js';
import { INVALID_BYTES_MARK } from '../answer/answer.js';
import type { Exchange } from './exchange.js';

const MARK = Buffer.from(INVALID_BYTES_MARK);
/** A lead byte without its continuation; as long as the mark, so that it is replaced in place. */
const INVALID_BYTES = Buffer.from([0xc3, 0x28, 0xff]);
const WRITE_SIZES = [1, 3, 2, 7, 5, 4, 6];

/** Writes text the way a behaviour wants its bytes: line ends, wrong bytes, and the cuts. */
export class FaultyOutput {
  private pending = Buffer.alloc(0);
  private writes = 0;

  constructor(
    private readonly exchange: Exchange,
    private readonly behaviour: Behaviour,
  ) {}

  async write(text: string): Promise<void> {
    if (text === '') return;
    const { byteSplit, oneWrite } = this.behaviour;
    const bytes = this.encode(text);
    if (!byteSplit && !oneWrite) return this.send(bytes);
    this.pending = Buffer.concat([this.pending, bytes]);
    if (byteSplit && !oneWrite) await this.sendSlices(WRITE_SIZES.length);
  }

  /** Writes what is still held back. */
  async flush(): Promise<void> {
    if (this.behaviour.byteSplit) await this.sendSlices(1);
    else if (this.pending.length > 0) await this.send(this.pending);
    this.pending = Buffer.alloc(0);
  }

  /** Sends slices while at least this many bytes are there, so that slices span events. */
  private async sendSlices(least: number): Promise<void> {
    while (this.pending.length >= least && !this.exchange.closed) {
      const size = WRITE_SIZES[this.writes % WRITE_SIZES.length] ?? 1;
      this.writes += 1;
      const slice = this.pending.subarray(0, size);
      this.pending = this.pending.subarray(slice.length);
      await this.send(slice);
    }
  }

  private async send(bytes: Buffer): Promise<void> {
    await this.exchange.write(bytes);
    await this.exchange.turn();
  }

  private encode(text: string): Buffer {
    const bytes = Buffer.from(this.behaviour.crlf ? text.replaceAll('\n', '\r\n') : text);
    if (!this.behaviour.wrongUtf8) return bytes;
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at)) {
      INVALID_BYTES.copy(bytes, at);
    }
    return bytes;
  }
}
