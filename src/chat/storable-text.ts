/** Without what PostgreSQL cannot store: the NUL character, and halves of a surrogate pair, which JSON would keep as escapes. */
export function storableText(text: string): string {
  return withoutNul(text).toWellFormed();
}

/** Without the NUL character, which PostgreSQL cannot store. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}
