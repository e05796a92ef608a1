import { BlockSizeError, OverlapError } from './knowledge.errors.js';

/** The rules of docs/WIRE.md (Knowledge bases). Throws BlockSizeError or OverlapError. */
export function requireSplitSettings({
  textBlockSize,
  overlapChar,
}: {
  readonly textBlockSize: number;
  readonly overlapChar: number;
}): void {
  if (textBlockSize <= 0) throw new BlockSizeError();
  if (overlapChar < 0 || overlapChar >= textBlockSize) throw new OverlapError();
}
