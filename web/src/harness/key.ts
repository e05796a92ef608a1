/** Creates an idempotency key. `crypto.randomUUID` exists only in secure contexts. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}

/** Converts a harness time in milliseconds to the format that page components expect. */
export function timeOf(milliseconds: number | null | undefined): string | null {
  return milliseconds == null ? null : new Date(milliseconds).toISOString();
}
