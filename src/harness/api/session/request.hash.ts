import { sha256 } from '../../protocol/ids.js';

/** Tells whether a repeated key comes with the same request: what is not given counts like null. */
export function requestHash(fields: readonly unknown[]): string {
  return sha256(JSON.stringify(fields));
}
