/** The field as a part of a body; nothing of one that was left out or is blank. */
export function optionalField(
  name: string,
  value: string | number | undefined,
): Record<string, string | number> {
  const isBlank = typeof value === 'string' && value.trim() === '';
  return value === undefined || isBlank ? {} : { [name]: value };
}

/** The text, or the default for one that was left out or is blank. */
export function textOr(value: string | undefined, otherwise: string): string {
  return value === undefined || value.trim() === '' ? otherwise : value;
}
