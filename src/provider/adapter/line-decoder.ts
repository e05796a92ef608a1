import { UpstreamError } from './upstream.error.js';

const LF = 10;
const CR = 13;

/** Longest event, or line outside of events, that is accepted. */
export const LARGEST_EVENT_BYTES = 1024 * 1024;

/** Receives a whole line as a range of bytes, without its end. */
export type LineSink = (bytes: Buffer, start: number, end: number) => void;

/**
 * Cuts bytes into lines ending in LF, CR LF or CR, wherever reads are split. Lines are handed over as
 * bytes and whole, so a character cut by the network is decoded right. Throws UpstreamError (protocol)
 * on a line beyond the limit.
 */
export class LineDecoder {
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private lastWasCr = false;

  constructor(private readonly onLine: LineSink) {}

  push(bytes: Buffer): void {
    let start = 0;
    // Most services send no CR at all; then one search per line is enough.
    let cr = bytes.indexOf(CR);
    if (this.lastWasCr && bytes.length > 0) {
      if (bytes[0] === LF) start = 1;
      this.lastWasCr = false;
    }
    let lf = bytes.indexOf(LF, start);
    while (lf >= 0 || cr >= 0) {
      const endsWithCr = cr >= 0 && (lf < 0 || cr < lf);
      const end = endsWithCr ? cr : lf;
      this.line(bytes, start, end);
      start = end + 1;
      if (endsWithCr) {
        if (lf === start) start++;
        else if (start === bytes.length) this.lastWasCr = true;
        cr = bytes.indexOf(CR, start);
      }
      if (lf < start && lf >= 0) lf = bytes.indexOf(LF, start);
    }
    if (start < bytes.length) this.keep(bytes.subarray(start));
  }

  /** Hands over a last line that has no end. */
  end(): void {
    if (this.pendingBytes > 0) this.line(EMPTY, 0, 0);
  }

  private line(bytes: Buffer, start: number, end: number): void {
    if (this.pendingBytes === 0) {
      this.onLine(bytes, start, end);
      return;
    }
    const line = Buffer.concat([...this.pending, bytes.subarray(start, end)]);
    this.pending = [];
    this.pendingBytes = 0;
    this.onLine(line, 0, line.length);
  }

  private keep(rest: Buffer): void {
    this.pending.push(rest);
    this.pendingBytes += rest.length;
    if (this.pendingBytes > LARGEST_EVENT_BYTES) throw tooLarge();
  }
}

const EMPTY = Buffer.alloc(0);

export function tooLarge(): UpstreamError {
  return new UpstreamError({
    kind: 'protocol',
    message:
      'The provider sent a single event of more than 1 MiB, which is refused. Check that the address belongs to a model service.',
  });
}
