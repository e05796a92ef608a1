import type { ChatMessage, ResponseFormat } from './chat.adapter.js';

/** The instruction for a model that does not see the schema by the protocol itself. Services of JSON mode require the word JSON. */
export function formatInstruction({ schema }: ResponseFormat): string {
  return `Answer with one JSON object that is valid against this JSON Schema. Write nothing before or after it, and no code fence.\n\n${JSON.stringify(schema)}`;
}

/** The messages with the instruction at the end of the system text. */
export function withInstruction(
  messages: readonly ChatMessage[],
  format: ResponseFormat,
): readonly ChatMessage[] {
  const instruction = formatInstruction(format);
  const last = messages.findLastIndex(({ role }) => role === 'system');
  if (last < 0) return [{ role: 'system', content: instruction }, ...messages];
  return messages.map((message, at) =>
    at === last && message.role === 'system'
      ? { ...message, content: `${message.content}\n\n${instruction}` }
      : message,
  );
}

/** The keywords that strict decoding of chat-completions takes; others make the service refuse the request. */
const STRICT_KEYWORDS: ReadonlySet<string> = new Set([
  '$ref',
  '$defs',
  'type',
  'title',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  'const',
  'anyOf',
]);

/**
 * Whether a service that decodes strictly takes the schema: every object requires all of its properties and forbids
 * others, and no other keywords are used.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (!Object.keys(schema).every((keyword) => STRICT_KEYWORDS.has(keyword))) return false;
  const { properties, required, additionalProperties, items, anyOf, $defs } = schema;
  const isObjectSchema = schema['type'] === 'object' || properties !== undefined;
  if (isObjectSchema) {
    const names = isObject(properties) ? Object.keys(properties) : [];
    const all = new Set(Array.isArray(required) ? required : []);
    if (additionalProperties !== false || !names.every((name) => all.has(name))) return false;
  }
  return [
    ...(isObject(properties) ? Object.values(properties) : []),
    ...(isObject($defs) ? Object.values($defs) : []),
    ...(Array.isArray(anyOf) ? (anyOf as unknown[]) : []),
    ...(items === undefined ? [] : [items]),
  ].every(isStrictSchema);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
