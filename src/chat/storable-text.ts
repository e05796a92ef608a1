/** Without what PostgreSQL cannot store: the NUL character, and halves of a surrogate pair, which JSON would keep as escapes. */
export function storableText(text: string): string {
  return withoutNul(text).toWellFormed();
}

/** The value with such texts alone, in its names as well. */
export function storableValue<Value>(value: Value): Value {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? storableText(part) : withStorableNames(part),
  );
  return JSON.parse(text) as Value;
}

function withStorableNames(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [storableText(name), one]));
}

/** Without the NUL character, which PostgreSQL cannot store. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}
