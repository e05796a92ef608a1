import { BlockSizeError, OverlapError } from './knowledge.errors.js';

/** The rules of the specification, section Errors 4. */
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
