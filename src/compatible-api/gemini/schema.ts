/** The object with names in camelCase, which the protocol takes as well as those in snake_case, and without nulls. */
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

/** Formats of numbers and of enumerations, which JSON Schema has no words for. */
const NO_FORMATS: ReadonlySet<unknown> = new Set([
  'enum',
  'int32',
  'int64',
  'float',
  'double',
  'byte',
]);
/** Say how to write a value, not what it may be. */
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

/** The field that holds a value which is not an object. */
const VALUE = 'value';

/** How the answer of a schema is written. */
export interface AnswerForm {
  readonly schema: Readonly<Record<string, unknown>>;
  /** The answer is inside an object, and to be written as JSON or as a bare text. */
  readonly inside?: 'json' | 'text';
}

/** Models answer objects alone, and the protocol takes every schema: another one becomes that of the only field of an object. */
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

/** The value in the object of `answerForm`; a text that is none, such as the beginning of an answer that was cut, as it is. */
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
