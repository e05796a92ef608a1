import type { OutboundResponse } from '../../platform/outbound/index.js';
import type { MediaType } from '../../provider/index.js';
import { contentType, SIGNATURE_BYTES } from './content-type.js';
import { ContentRefusedError } from './content.errors.js';

export const LARGEST_BYTES = 64 * 1024 * 1024;

/** A resource whose first bytes were checked. The caller that opens one closes it. */
export class ContentResource {
  private constructor(
    /** Of the category, and as the first bytes say. */
    readonly type: string,
    /** As its host says; undefined when that does not say. */
    readonly length: number | undefined,
    private head: Buffer | undefined,
    private readonly rest: AsyncIterator<Buffer>,
  ) {}

  /** Fails with ContentRefusedError for a type or a length that is not proxied, before anything else is read. */
  static async open(response: OutboundResponse, type: MediaType): Promise<ContentResource> {
    const length = lengthOf(response);
    const rest = response.body[Symbol.asyncIterator]();
    try {
      if (length !== undefined && length > LARGEST_BYTES) throw tooLarge();
      const head = await firstBytes(rest);
      if (head.length === 0) throw new ContentRefusedError('The resource is empty.');
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
  return new ContentRefusedError('The resource is larger than 64 MiB.');
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
