import type { OpenAPIObject } from '@nestjs/swagger';
import { JSON_BODY } from '../http/index.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];
type Content = Record<string, MediaType>;

interface MediaType {
  readonly schema?: Schema;
  encoding?: Readonly<Record<string, typeof IN_BRACKETS>>;
}

interface Parameter {
  readonly in?: string;
  readonly schema?: Schema;
}

interface Operation {
  [JSON_BODY]?: Schema;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
}

const FORM = 'application/x-www-form-urlencoded';

/** The style of objects in queries and forms: the field `a` of an object `o` is `o[a]`. */
const IN_BRACKETS = { style: 'deepObject', explode: true } as const;

/**
 * Describes what a route reads where the decorators of Nest cannot: a JSON body in place of a form, and how queries and forms
 * write objects.
 */
export function describeInputs(document: OpenAPIObject): void {
  const schemas = document.components?.schemas ?? {};
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item as Record<string, Operation>)) {
      const { [JSON_BODY]: schema, requestBody } = operation;
      Reflect.deleteProperty(operation, JSON_BODY);
      if (schema && requestBody) requestBody.content['application/json'] = { schema };
      describeObjects(operation, schemas);
    }
  }
}

function describeObjects({ parameters = [], requestBody }: Operation, schemas: Schemas): void {
  for (const parameter of parameters) {
    const isObject = parameter.in === 'query' && propertiesOf(parameter.schema, schemas);
    if (isObject) Object.assign(parameter, IN_BRACKETS);
  }
  const form = requestBody?.content[FORM];
  const fields = Object.entries(propertiesOf(form?.schema, schemas) ?? {});
  const objects = fields.filter(([, field]) => propertiesOf(field, schemas));
  if (!form || objects.length === 0) return;
  form.encoding = Object.fromEntries(objects.map(([name]) => [name, IN_BRACKETS]));
}

/** The fields of an object; undefined for anything else. */
function propertiesOf(
  schema: Schema | undefined,
  schemas: Schemas,
): Readonly<Record<string, Schema>> | undefined {
  if (!schema) return undefined;
  if ('$ref' in schema) return propertiesOf(schemas[schema.$ref.split('/').at(-1) ?? ''], schemas);
  return schema.properties;
}
