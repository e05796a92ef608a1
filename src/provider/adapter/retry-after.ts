/**
 * Reads Retry-After (RFC 9110, 10.2.3): seconds, or an HTTP date. Answers milliseconds from now, never
 * negative; undefined if there is none or it cannot be read.
 */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  const value = header?.trim() ?? '';
  if (value === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
