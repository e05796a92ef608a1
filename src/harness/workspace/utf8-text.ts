import { StringDecoder } from 'node:string_decoder';

/** The bytes as text, a byte order mark included; undefined for binary content and for other encodings. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The beginning of the text, of at most so many bytes, without half a character at its end. */
export function firstBytes(text: string, bytes: number): string {
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
