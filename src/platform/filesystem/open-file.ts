import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { readlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { HANDLES, hasHandlePaths } from './handle-path.js';
import { ObstacleError, opened } from './obstacle.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** Opening a pipe without a writer does not block, and a terminal does not become the controlling one. */
const TO_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

const CHUNK_BYTES = 64 * 1024;

/** A regular file that is open for reading, independent of what its name refers to later. */
export class OpenFile {
  private constructor(
    private readonly handle: FileHandle,
    /** The status of the file when it was opened. */
    readonly stats: Stats,
  ) {}

  /** Throws ObstacleError when the path ends at anything but a regular file. */
  static async open(path: string): Promise<OpenFile> {
    const handle = await opened(path, TO_READ);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new ObstacleError('no-file');
      return new OpenFile(handle, stats);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The whole content; ObstacleError when it is longer than the limit, also if it grows during the read. */
  async read(limitBytes: number, signal: AbortSignal): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.chunks(limitBytes, signal)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Length and SHA-256 (lower-case hex) of the content, without holding it; the limit is as in `read`. */
  async digest(
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly size: number; readonly sha256: string }> {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of this.chunks(limitBytes, signal)) {
      size += chunk.length;
      hash.update(chunk);
    }
    return { size, sha256: hash.digest('hex') };
  }

  /** `length` bytes from the offset; fewer at the end of the file. */
  async part(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.alloc(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.handle.read(
        buffer,
        filled,
        length - filled,
        position + filled,
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  /** The present path of the file. Undefined on systems without /proc. */
  async place(): Promise<string | undefined> {
    return hasHandlePaths ? readlink(`${HANDLES}/${this.handle.fd}`) : undefined;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private async *chunks(limitBytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    if (this.stats.size > limitBytes) throw new ObstacleError('too-large');
    let total = 0;
    for (;;) {
      signal.throwIfAborted();
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const { bytesRead } = await this.handle.read(chunk, 0, CHUNK_BYTES, total);
      if (bytesRead === 0) return;
      total += bytesRead;
      if (total > limitBytes) throw new ObstacleError('too-large');
      yield chunk.subarray(0, bytesRead);
    }
  }
}
