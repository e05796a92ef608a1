import { firstBytes } from '../../workspace/utf8-text.js';

/** As many whole lines from the beginning as the bytes hold. */
export function cutLines(text: string, limitBytes: number): { text: string; cut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return { text, cut: false };
  const end = bytes.lastIndexOf(0x0a, limitBytes - 1) + 1;
  if (end > 0) return { text: bytes.toString('utf8', 0, end), cut: true };
  // One line that is too long by itself.
  return { text: firstBytes(text, limitBytes), cut: true };
}
