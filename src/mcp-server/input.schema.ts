import type { Type } from '@nestjs/common';
import type { JSONObject, Tool } from '@modelcontextprotocol/server';

export type InputSchema = Tool['inputSchema'];

/** What the decorators of src/platform/http/input.ts declare of a field for OpenAPI. */
interface DeclaredField extends Readonly<Record<string, unknown>> {
  readonly type?: unknown;
  readonly required?: boolean;
}

const NAMES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [Object, 'object'],
]);

/** Words of OpenAPI that JSON Schema has, too. */
const COMMON = [
  'description',
  'enum',
  'items',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'additionalProperties',
] as const;

/** The fields that a class of a request declares. */
export function declaredFields(dto: Type | undefined): string[] {
  if (!dto) return [];
  const names = Reflect.getMetadata(
    'swagger/apiModelPropertiesArray',
    dto.prototype as object,
  ) as string[];
  return names.map((name) => name.replace(/^:/, ''));
}

/** The schema of a tool's arguments: the parameters of the path, and the chosen fields of the classes that declare them. */
export function inputSchemaOf(
  path: readonly string[],
  fields: ReadonlyMap<string, Type>,
): InputSchema {
  const properties: Record<string, JSONObject> = {};
  const required = [...path];
  for (const name of path) properties[name] = { type: 'string', minLength: 1 };
  for (const [name, dto] of fields) {
    const declared = Reflect.getMetadata(
      'swagger/apiModelProperties',
      dto.prototype as object,
      name,
    ) as DeclaredField;
    properties[name] = schemaOf(declared);
    if (declared.required !== false) required.push(name);
  }
  return { type: 'object', properties, required, additionalProperties: false };
}

function schemaOf(declared: DeclaredField): JSONObject {
  const { type, example } = declared;
  const common = Object.fromEntries(
    COMMON.flatMap((word) => (declared[word] === undefined ? [] : [[word, declared[word]]])),
  );
  const shape = Array.isArray(type)
    ? { type: 'array', items: { type: NAMES.get(type[0]) } }
    : { type: typeof type === 'string' ? type : (NAMES.get(type) ?? 'string') };
  return {
    ...shape,
    ...common,
    ...(example !== undefined && { examples: [example] }),
  } as JSONObject;
}
