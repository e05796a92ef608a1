import type { ServerResponse } from 'node:http';
import type { OutboundResponse } from '../../platform/outbound/index.js';
import { msg } from '../../platform/message/index.js';
import type { MediaType } from '../../provider/index.js';
import { ContentRefusedError, contentType, SIGNATURE_BYTES } from './content.checks.js';

export const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** The time that a client may leave sent data unread before it counts as gone. */
const STALLED_MS = 60_000;

/** A resource whose first bytes were checked. The caller that opens one closes it. */
export class ContentResource {
  private constructor(
    /** A media type of the category, as the first bytes show it. */
    readonly type: string,
    /** The length that the host declares; undefined without one. */
    readonly length: number | undefined,
    private head: Buffer | undefined,
    private readonly rest: AsyncIterator<Buffer>,
  ) {}

  /** Fails with ContentRefusedError for a type or a length that is not proxied, before anything else is read. */
  static async open(response: OutboundResponse, type: MediaType): Promise<ContentResource> {
    const length = lengthOf(response);
    const rest = response.body[Symbol.asyncIterator]();
    try {
      if (length !== undefined && length > MAX_CONTENT_BYTES) throw tooLarge();
      const head = await firstBytes(rest);
      if (head.length === 0) throw new ContentRefusedError(msg`The resource is empty.`);
      const name = contentType(type, response.headers['content-type'], head);
      return new ContentResource(name, length, head, rest);
    } catch (error) {
      await rest.return?.();
      throw error;
    }
  }

  /** The next bytes; undefined at the end. Not asking for more pauses the host. Fails with OutboundError. */
  async read(): Promise<Buffer | undefined> {
    const { head } = this;
    this.head = undefined;
    if (head) return head;
    const next = await this.rest.next();
    return next.done === true ? undefined : next.value;
  }

  /** Ends the call, wherever it is. */
  async close(): Promise<void> {
    await this.rest.return?.();
  }
}

export function tooLarge(): ContentRefusedError {
  return new ContentRefusedError(msg`The resource is larger than 64 MiB.`);
}

function lengthOf({ headers }: OutboundResponse): number | undefined {
  const text = headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

async function firstBytes(body: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < SIGNATURE_BYTES) {
    const next = await body.next();
    if (next.done === true) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  return head;
}

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
        response.off(event, reached).off('close', disconnected);
        if (error) reject(error);
        else resolve();
      };
      const reached = (): void => settle();
      const disconnected = (): void => settle(new ClientGoneError('The client has left'));
      const timer = setTimeout(() => {
        settle(new ClientGoneError('The client reads nothing'));
      }, this.stalledMs);
      response.on(event, reached).on('close', disconnected);
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
