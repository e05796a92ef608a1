import { setImmediate as nextTurn } from 'node:timers/promises';

/** Text that PostgreSQL can hold: it has neither NUL nor half a character. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/**
 * The value as JSON text that jsonb can hold: `textOf` makes each of its strings and names storable. jsonb refuses NUL characters
 * and halves of surrogate pairs, which JSON keeps as escapes.
 */
export function storableJson(
  value: unknown,
  textOf: (text: string) => string = storableText,
): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string') return textOf(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    if (Object.keys(part).every((name) => textOf(name) === name)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [textOf(name), one]));
  });
}

/** Members of a list that are made into JSON at once: a few milliseconds of work. */
const CHUNK_COUNT = 1_000;

/** A list as `storableJson`, made in chunks, so that a long one does not block the process. */
export async function storableList(list: readonly unknown[]): Promise<string> {
  const chunks: string[] = [];
  for (let at = 0; at < list.length; at += CHUNK_COUNT) {
    if (at > 0) await nextTurn();
    chunks.push(storableJson(list.slice(at, at + CHUNK_COUNT)).slice(1, -1));
  }
  return `[${chunks.join(',')}]`;
}
