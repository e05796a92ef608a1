import { createHash } from 'node:crypto';

/** What is kept of a client's secret: SHA-256, in hex. */
export function secretDigest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
