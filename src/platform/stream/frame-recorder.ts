/** Frames within this time are stored together. */
const COLLECTION_MS = 100;

/** A stream pauses while this many bytes are not stored. */
const MAX_UNSTORED_BYTES = 1024 * 1024;

/** Numbers the frames of one stream, and stores them in pieces. A failure is retried with the next piece. */
export class FrameRecorder {
  private frames: string[] = [];
  private bytes = 0;
  private storing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param next The number of the next frame. */
  constructor(
    private readonly store: (first: number, frames: readonly string[]) => Promise<void>,
    private next = 0,
  ) {}

  /** The number of the next frame. */
  get nextNumber(): number {
    return this.next;
  }

  /** Whether so much is not stored that the stream should wait for `flush`. */
  get isFull(): boolean {
    return this.bytes > MAX_UNSTORED_BYTES;
  }

  /** Stores the frame under the next number, with those that follow within COLLECTION_MS. */
  add(frame: string): void {
    this.next += 1;
    this.frames.push(frame);
    this.bytes += Buffer.byteLength(frame);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      // The next `flush` reports a failure; the frames are retained until then.
      void this.flush().catch(() => undefined);
    }, COLLECTION_MS);
  }

  /** Stores all frames so far. */
  flush(): Promise<void> {
    this.storing ??= this.storeAll().finally(() => (this.storing = undefined));
    return this.storing;
  }

  /** Stores the remaining frames. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.storing?.catch(() => undefined);
    await this.flush();
  }

  private async storeAll(): Promise<void> {
    while (this.frames.length > 0) {
      const { bytes } = this;
      const frames = [...this.frames];
      await this.store(this.next - frames.length, frames);
      this.frames = this.frames.slice(frames.length);
      this.bytes -= bytes;
    }
  }
}
