/** The object with camelCase keys and without nulls. The protocol accepts snake_case as well. */
export function camelKeys(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null && one !== undefined)
      .map(([name, one]) => [
        name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        one,
      ]),
  );
}

/** Formats of numbers and enumerations that JSON Schema does not have. */
const NO_FORMATS: ReadonlySet<unknown> = new Set([
  'enum',
  'int32',
  'int64',
  'float',
  'double',
  'byte',
]);
/** Keywords that describe presentation and restrict nothing. */
const NOT_CHECKED: ReadonlySet<string> = new Set(['propertyOrdering', 'example', 'nullable']);
/** 64-bit integers, which the protocol writes as texts. */
const COUNTS = /^(min|max)(Items|Length|Properties)$/;

/** The JSON Schema of a Schema of Gemini, whose types are in capitals and which has `nullable`. */
export function jsonSchemaOf(geminiSchema: unknown): Record<string, unknown> {
  const schema = camelKeys(geminiSchema);
  if (!isObject(schema)) return {};
  const read = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (NOT_CHECKED.has(name)) return [];
    if (name === 'format' && NO_FORMATS.has(value)) return [];
    if (name === 'type') return typeOf(value);
    return [[name, keywordOf(name, value)]];
  });
  const result = Object.fromEntries(read);
  return schema['nullable'] === true ? withNull(result) : result;
}

function typeOf(value: unknown): [string, unknown][] {
  if (typeof value !== 'string') return [['type', value]];
  return value === 'TYPE_UNSPECIFIED' ? [] : [['type', value.toLowerCase()]];
}

function keywordOf(name: string, value: unknown): unknown {
  if (name === 'properties' && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, jsonSchemaOf(one)]));
  }
  if (name === 'anyOf' && Array.isArray(value)) return value.map(jsonSchemaOf);
  if ((name === 'items' || name === 'additionalProperties') && isObject(value)) {
    return jsonSchemaOf(value);
  }
  return COUNTS.test(name) && typeof value === 'string' ? Number(value) : value;
}

function withNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, anyOf } = schema;
  const values = schema['enum'];
  if (Array.isArray(anyOf))
    return { ...schema, anyOf: [...(anyOf as unknown[]), { type: 'null' }] };
  return {
    ...schema,
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}

/** Field that wraps a value which is not an object. */
const VALUE = 'value';

/** Output form of an answer with a schema. */
export interface AnswerForm {
  readonly schema: Readonly<Record<string, unknown>>;
  /** The value is wrapped in an object, and is written as JSON or as plain text. */
  readonly inside?: 'json' | 'text';
}

/** The protocol accepts any schema but models return only objects, so other schemas are wrapped in a one-field object. */
export function answerForm(schema: Readonly<Record<string, unknown>>, isText: boolean): AnswerForm {
  if (schema['type'] === 'object' && !isText) return { schema };
  const { $defs, definitions, ...inner } = schema;
  return {
    schema: {
      type: 'object',
      properties: { [VALUE]: inner },
      required: [VALUE],
      additionalProperties: false,
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    },
    inside: isText ? 'text' : 'json',
  };
}

/** Unwraps the value of an `answerForm` object. A text that is not such an object, such as a truncated answer, is returned unchanged. */
export function takenOut(text: string, inside: AnswerForm['inside']): string {
  if (inside === undefined) return text;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return text;
  }
  if (!isObject(read) || !Object.hasOwn(read, VALUE)) return text;
  const value = read[VALUE];
  return inside === 'text' && typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
