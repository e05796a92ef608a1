import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';
import type { ZipFile } from 'yauzl';

/** The bytes from `start` to `end`, which is exclusive, or to the end of the file. */
type ReadRange = (range: { readonly start: number; readonly end: number }) => Promise<Readable>;

/** Bytes that are read at once: the directory of an archive is read in pieces of some dozen bytes. */
const BLOCK_BYTES = 64 * 1_024;

/** Opens a zip whose content is read from a storage, of which only the parts that are needed are read. The caller closes it. */
export function openStoredZip(size: number, read: ReadRange): Promise<ZipFile> {
  // The entries are read after the directory, at whose end it would close itself.
  return fromRandomAccessReaderPromise(new BlockReader(read), size, { autoClose: false });
}

class BlockReader extends RandomAccessReader {
  private block = { start: 0, bytes: Buffer.alloc(0) };

  constructor(private readonly readRange: ReadRange) {
    super();
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.range(start, end));
  }

  private async *range(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end;) {
      const found = (await this.from(at)).subarray(0, end - at);
      if (found.length === 0) return;
      at += found.length;
      yield found;
    }
  }

  /** What is known of the file from a place on; empty behind its end. */
  private async from(at: number): Promise<Buffer> {
    const { start, bytes } = this.block;
    if (at >= start && at < start + bytes.length) return bytes.subarray(at - start);
    const read = await this.readRange({ start: at, end: at + BLOCK_BYTES });
    const found = Buffer.concat((await read.toArray()) as Buffer[]);
    this.block = { start: at, bytes: found };
    return found;
  }
}
