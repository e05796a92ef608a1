import type { JsonObject, JsonValue } from './json.js';

/** A file of a form, as requests are recorded: its bytes in base64. */
export interface SentFile extends JsonObject {
  filename: string;
  type: string;
  base64: string;
}

export function isForm(contentType: string): boolean {
  return /^multipart\/form-data/i.test(contentType);
}

/** A multipart body (RFC 7578) as an object: texts, files, and lists of them where a name is repeated or ends in `[]`. */
export function parseForm(bytes: Buffer, contentType: string): JsonObject {
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1] ?? '';
  const form: Record<string, JsonValue[]> = {};
  // Latin-1 keeps every byte.
  const parts = bytes.toString('latin1').split(`--${boundary}`).slice(1, -1);
  for (const part of parts) {
    const end = part.indexOf('\r\n\r\n');
    const head = Buffer.from(part.slice(2, end), 'latin1').toString('utf8');
    const content = Buffer.from(part.slice(end + 4, -2), 'latin1');
    const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? '';
    (form[name] ??= []).push(valueOf(head, content));
  }
  return Object.fromEntries(
    Object.entries(form).map(([name, values]) => {
      const [first = null] = values;
      return [name, values.length > 1 || name.endsWith('[]') ? values : first];
    }),
  );
}

function valueOf(head: string, content: Buffer): JsonValue {
  const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
  if (filename === undefined) return content.toString('utf8');
  const type = /^content-type:\s*(\S+)/im.exec(head)?.[1] ?? '';
  return { filename, type, base64: content.toString('base64') };
}

/** The files of a name, with or without `[]`. */
export function filesIn(body: JsonObject, name: string): SentFile[] {
  const values = [body[name], body[`${name}[]`]].flat();
  return values.filter(
    (value): value is SentFile =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && 'base64' in value,
  );
}
