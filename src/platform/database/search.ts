import { ILike } from 'typeorm';
import type { FindOperator } from 'typeorm';

/** Matches rows that contain the text, in any case; `%` and `_` in it are plain characters. */
export function containing(text: string): FindOperator<string> {
  return ILike(`%${text.replace(/[\\%_]/g, '\\$&')}%`);
}
