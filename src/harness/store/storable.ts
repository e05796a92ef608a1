import { storableJson as jsonOf } from '../../platform/database/index.js';
import { inTurns } from '../protocol/turns.js';

/** Text that PostgreSQL can hold: it has neither NUL nor half a character. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** The value as JSON text whose strings and names jsonb can hold. */
export function storableJson(value: unknown): string {
  return jsonOf(value, storableText);
}

/** A list as `storableJson`, made in pieces, so that a long one does not block the process. */
export async function storableList(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of inTurns(list)) pieces.push(storableJson(piece).slice(1, -1));
  return `[${pieces.join(',')}]`;
}
