import { inTurns } from '../protocol/turns.js';

/** Text that PostgreSQL can hold: it has neither NUL nor half a character. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** The value as JSON text whose strings and names jsonb can hold. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? storableText(part) : withStorableNames(part),
  );
}

function withStorableNames(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  if (Object.keys(part).every((name) => storableText(name) === name)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [storableText(name), one]));
}

/** A list as `storableJson`, made in pieces, so that a long one does not block the process. */
export async function storableList(list: readonly unknown[]): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of inTurns(list)) pieces.push(storableJson(piece).slice(1, -1));
  return `[${pieces.join(',')}]`;
}
