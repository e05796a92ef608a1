/** Marks that move the cursor, set colours or titles: nothing that a reader of text needs. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Bytes of a command's output as text that can be stored and read; what is no UTF-8 or no text becomes U+FFFD. */
export function outputText(bytes: Buffer): string {
  return bytes.toString('utf8').replace(ESCAPES, '').replace(CONTROLS, '\ufffd');
}

/** The beginning of the text, of at most so many bytes, without half a character at its end. */
export function firstBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  let end = bytes;
  while (end > 0 && isContinuation(all[end])) end -= 1;
  return all.toString('utf8', 0, end);
}

/** The end of the text, of at most so many bytes, without half a character at its beginning. */
export function lastBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  let start = all.length - bytes;
  while (start < all.length && isContinuation(all[start])) start += 1;
  return all.toString('utf8', start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
