export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** The value of a JSON text, or undefined when the text is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; anything else reads as an object without members. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The members of a list that are objects; anything else reads as an empty list. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The value as a string; anything else reads as the empty string. */
export function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a finite number, also when it is written as a string; otherwise undefined. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value !== 'number' && (typeof value !== 'string' || value === '')) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}
