/**
 * The value as JSON text that jsonb can hold: `textOf` makes each of its strings and names storable. jsonb refuses NUL characters
 * and halves of surrogate pairs, which JSON keeps as escapes.
 */
export function storableJson(value: unknown, textOf: (text: string) => string): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string') return textOf(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    if (Object.keys(part).every((name) => textOf(name) === name)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [textOf(name), one]));
  });
}
