/** A key that makes a repeated request harmless. `crypto.randomUUID` exists in secure contexts only. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}

/** A time of the harness, in milliseconds, as the parts of pages take it. */
export function timeOf(milliseconds: number | null | undefined): string | null {
  return milliseconds == null ? null : new Date(milliseconds).toISOString();
}
