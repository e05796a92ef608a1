/** Escapes of JSON (RFC 8259, section 7). They stand only in its strings; a backslash that is escaped begins none. */
const ESCAPES = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;

/** What stays escaped as a letter of its own, so that the text is JSON as before. */
const SHORT: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

/**
 * JSON whose strings are written with the characters that their escapes stand for, as people search for them. Quotes,
 * backslashes and control characters stay escaped: it is the same JSON.
 */
export function withoutEscapes(json: string): string {
  if (!json.includes('\\')) return json;
  const decoded = json.replace(ESCAPES, (escape, code: string | undefined) => {
    if (code === undefined) return escape === '\\/' ? '/' : escape;
    const character = String.fromCharCode(parseInt(code, 16));
    return SHORT[character] ?? (character < ' ' || character === '\u007f' ? escape : character);
  });
  // Surrogates are escaped one by one and are a character together.
  return decoded.toWellFormed();
}
