import { createHash } from 'node:crypto';
import { v7 } from 'uuid';

/** A new id of a harness record: UUID version 7, so that ids sort by the time they were made (RFC 9562). */
export function newId(): string {
  return v7();
}

/** SHA-256 as lower-case hex, of the bytes or of the text as UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Tells whether a repeated key comes with the same request: what is not given counts like null. */
export function requestHash(fields: readonly unknown[]): string {
  return sha256(JSON.stringify(fields));
}
