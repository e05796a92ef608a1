import { readFile } from 'node:fs/promises';
import type { OpenAPIObject } from '@nestjs/swagger';
import { documentFile, embeddedTemplate } from './template.js';

type Schema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];
type SchemaObject = Exclude<Schema, { $ref: string }>;

interface Operation {
  readonly segments: readonly string[];
  /** Of the JSON answer; undefined for a route that answers something else. */
  readonly schema: Schema | undefined;
}

/** Routes whose answer no view describes, each with the reason. */
const FREE_FORM: Readonly<Record<string, string>> = {};

let loading: Promise<AnswerSchemas> | undefined;

/**
 * Throws when the successful answer of a JSON route is not what its OpenAPI schema says: a field is missing or not
 * declared, a value is null where the schema does not allow it, or of another type.
 */
export async function checkAnswer(method: string, address: string, text: string): Promise<void> {
  const answer = parsed(text);
  if (answer?.['code'] !== 200) return;
  loading ??= AnswerSchemas.load();
  (await loading).check(method, new URL(address, 'http://plinth').pathname, answer);
}

class AnswerSchemas {
  private readonly operations: ReadonlyMap<string, readonly Operation[]>;

  private constructor(private readonly document: OpenAPIObject) {
    const operations = new Map<string, Operation[]>();
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item as Record<string, Answered>)) {
        const schema = operation.responses?.['200']?.content?.['application/json']?.schema;
        const found = operations.get(method.toUpperCase()) ?? [];
        operations.set(method.toUpperCase(), [...found, { segments: path.split('/'), schema }]);
      }
    }
    this.operations = operations;
  }

  /** The document is the same for every Plinth of a run: it comes with the template of their databases. */
  static async load(): Promise<AnswerSchemas> {
    await embeddedTemplate();
    return new AnswerSchemas(JSON.parse(await readFile(documentFile, 'utf8')) as OpenAPIObject);
  }

  check(method: string, path: string, answer: Readonly<Record<string, unknown>>): void {
    const operation = this.operationOf(method, path);
    if (!operation) return;
    const route = `${method} ${operation.segments.join('/')}`;
    if (route in FREE_FORM) return;
    const problems = operation.schema
      ? this.problemsOf(answer, operation.schema, 'answer')
      : ['answer: the document has no schema of it'];
    if (problems.length > 0) {
      throw new Error(`${route} is not as its OpenAPI schema says:\n  ${problems.join('\n  ')}`);
    }
  }

  /** The route with the fewest parameters, as Express finds it: the table of routes is tested for that. */
  private operationOf(method: string, path: string): Operation | undefined {
    const segments = path.split('/');
    const parameters = ({ segments: all }: Operation): number => all.filter(isParameter).length;
    return (this.operations.get(method) ?? [])
      .filter((operation) => matches(operation.segments, segments))
      .sort((a, b) => parameters(a) - parameters(b))[0];
  }

  private problemsOf(value: unknown, given: Schema, place: string): string[] {
    const schema = this.resolved(given);
    if (value === null) return isNullable(schema) ? [] : [`${place} is null and not nullable`];
    const options = schema.oneOf ?? schema.anyOf;
    if (options) {
      const tried = options.map((option) => this.problemsOf(value, option, place));
      return tried.some((problems) => problems.length === 0) ? [] : (tried[0] ?? []);
    }
    if (!hasType(value, schema))
      return [`${place} is ${typeOf(value)}, not ${String(schema.type)}`];
    if (Array.isArray(value)) {
      const { items } = schema;
      if (!items) return [];
      return value.flatMap((item, index) => this.problemsOf(item, items, `${place}[${index}]`));
    }
    return isRecord(value) ? this.problemsOfFields(value, schema, place) : [];
  }

  private problemsOfFields(
    value: Readonly<Record<string, unknown>>,
    { properties, required = [], additionalProperties }: SchemaObject,
    place: string,
  ): string[] {
    // An object whose fields the document does not name is free.
    if (!properties && !additionalProperties) return [];
    const missing = required
      .filter((name) => !(name in value))
      .map((name) => `${place}.${name} is missing`);
    const wrong = Object.entries(value).flatMap(([name, field]) => {
      const schema = properties?.[name] ?? additionalProperties;
      if (schema === true) return [];
      if (!schema) return [`${place}.${name} is not declared`];
      return this.problemsOf(field, schema, `${place}.${name}`);
    });
    return [...missing, ...wrong];
  }

  /** With what it refers to, and what `allOf` puts together, in one. */
  private resolved(schema: Schema): SchemaObject {
    if ('$ref' in schema) {
      const name = schema.$ref.split('/').at(-1) ?? '';
      const found = this.document.components?.schemas?.[name];
      if (!found) throw new Error(`The document has no schema ${name}.`);
      return this.resolved(found);
    }
    if (!schema.allOf) return schema;
    const { allOf, ...rest } = schema;
    const parts = [...allOf.map((part) => this.resolved(part)), rest];
    return {
      ...parts.reduce((all, part) => ({ ...all, ...part }), {}),
      properties: Object.fromEntries(
        parts.flatMap(({ properties }) => Object.entries(properties ?? {})),
      ),
      required: parts.flatMap(({ required = [] }) => required),
    };
  }
}

interface Answered {
  readonly responses?: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}

function parsed(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

function matches(template: readonly string[], path: readonly string[]): boolean {
  if (template.length !== path.length) return false;
  return template.every((segment, at) => isParameter(segment) || segment === path[at]);
}

/** The data of a status says `nullable` without a type. */
function isNullable({ nullable, type, oneOf }: SchemaObject): boolean {
  if (nullable || type === 'null') return true;
  return (oneOf ?? []).some((option) => 'nullable' in option && option.nullable);
}

function hasType(value: unknown, { type }: SchemaObject): boolean {
  const actual = typeOf(value);
  return type === undefined || type === actual || (type === 'number' && actual === 'integer');
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
