import type { ServerResponse } from 'node:http';

/** How long a client may leave what it was sent unread before it counts as gone. */
const STALLED_MS = 60_000;

/** The client has closed the connection, or does not read. */
export class ClientGoneError extends Error {}

/** Writes a resource as fast as its client reads. */
export class ContentWriter {
  constructor(
    private readonly response: ServerResponse,
    private readonly stalledMs = STALLED_MS,
  ) {}

  begin(type: string, length: number): void {
    this.response.writeHead(200, {
      'Content-Type': type,
      'Content-Length': length,
      'Cache-Control': 'no-store',
      'Content-Disposition': 'inline',
      'X-Content-Type-Options': 'nosniff',
    });
  }

  /** Resolves when more may be written. The bytes are gone afterwards: their memory is given back. */
  async write(bytes: Buffer): Promise<void> {
    if (this.response.destroyed) throw new ClientGoneError('The client has left');
    if (!this.response.write(bytes, () => free(bytes))) await this.until('drain');
  }

  /** Resolves when the client has everything. */
  async end(): Promise<void> {
    if (this.response.destroyed) return;
    this.response.end();
    if (!this.response.writableFinished) await this.until('finish');
  }

  private until(event: 'drain' | 'finish'): Promise<void> {
    const { response } = this;
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        response.off(event, reached).off('close', left);
        if (error) reject(error);
        else resolve();
      };
      const reached = (): void => settle();
      const left = (): void => settle(new ClientGoneError('The client has left'));
      const timer = setTimeout(() => {
        settle(new ClientGoneError('The client reads nothing'));
      }, this.stalledMs);
      response.on(event, reached).on('close', left);
    });
  }
}

/**
 * Left to the garbage collector, each 64 MiB of sent bytes would make it go through the whole heap, while nothing else
 * runs. Bytes that share their memory with others stay.
 */
function free({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && 'transfer' in buffer) buffer.transfer(0);
}
