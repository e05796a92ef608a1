import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
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

interface SeenAnswer {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  readonly status: number;
  readonly type: unknown;
  readonly text: string;
}

/**
 * Throws when a JSON answer, a failure included, is not what the OpenAPI schema of its route says: a field is missing
 * or not declared, a value is null where the schema does not allow it, of another type, or not one of those listed.
 */
export async function checkAnswer({
  method,
  address,
  status,
  type,
  text,
}: SeenAnswer): Promise<void> {
  if (status !== 200 || !String(type).startsWith('application/json')) return;
  const path = URL.parse(address, 'http://plinth')?.pathname;
  const answer: unknown = JSON.parse(text);
  if (path === undefined || !isRecord(answer)) return;
  (await loadAnswerSchemas()).check(method, path, answer);
}

/**
 * Reads the document, once for each process. Before an application starts: the first test of a run boots another one for
 * the document, and Nest logs with the logger of the last one.
 */
export function loadAnswerSchemas(): Promise<AnswerSchemas> {
  return (loading ??= AnswerSchemas.load());
}

/** Checks every JSON answer that leaves a server, whatever client asked; the result throws the first that is wrong. */
export function recordAnswers(server: Server): () => Promise<void> {
  const checks: Promise<Error | undefined>[] = [];
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: address = '' } = request;
    const end = response.end.bind(response) as (...given: unknown[]) => ServerResponse;
    response.end = (...given: unknown[]): ServerResponse => {
      const [body] = given;
      if (typeof body === 'string' || Buffer.isBuffer(body)) {
        const { statusCode: status } = response;
        const type = response.getHeader('content-type');
        const seen = { method, address, status, type, text: String(body) };
        checks.push(checkAnswer(seen).then(() => undefined, asError));
      }
      return end(...given);
    };
  });
  return async () => {
    const wrong = (await Promise.all(checks)).find((problem) => problem !== undefined);
    if (wrong !== undefined) throw wrong;
  };
}

class AnswerSchemas {
  /** By method and number of segments. */
  private readonly operations: ReadonlyMap<string, readonly Operation[]>;
  private readonly whole = new Map<Schema, SchemaObject>();

  private constructor(private readonly document: OpenAPIObject) {
    const operations = new Map<string, Operation[]>();
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item as Record<string, Answered>)) {
        const schema = operation.responses?.['200']?.content?.['application/json']?.schema;
        const segments = path.split('/');
        const key = keyOf(method.toUpperCase(), segments);
        operations.set(key, [...(operations.get(key) ?? []), { segments, schema }]);
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
    return (this.operations.get(keyOf(method, segments)) ?? [])
      .filter((operation) => matches(operation.segments, segments))
      .sort((a, b) => parameters(a) - parameters(b))[0];
  }

  private problemsOf(value: unknown, given: Schema, place: string): string[] {
    const schema = this.resolved(given);
    const options = schema.oneOf ?? schema.anyOf;
    if (options) {
      const tried = options.map((option) => this.problemsOf(value, option, place));
      // Of several the one that it comes closest to.
      return tried.sort((one, other) => one.length - other.length)[0] ?? [];
    }
    if (value === null) return isNullable(schema) ? [] : [`${place} is null and not nullable`];
    if (schema.enum && !schema.enum.includes(value)) {
      return [`${place} is ${JSON.stringify(value)}, not one of ${schema.enum.join(', ')}`];
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
    const known = this.whole.get(schema);
    if (known) return known;
    const whole = this.resolve(schema);
    this.whole.set(schema, whole);
    return whole;
  }

  private resolve(schema: Schema): SchemaObject {
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

function asError(problem: unknown): Error {
  return problem instanceof Error ? problem : new Error(String(problem));
}

interface Answered {
  readonly responses?: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}

function keyOf(method: string, segments: readonly string[]): string {
  return `${method} ${segments.length}`;
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

function matches(template: readonly string[], path: readonly string[]): boolean {
  return template.every((segment, at) => isParameter(segment) || segment === path[at]);
}

/** As OpenAPI 3.0 has it: beside a type alone, and an enumeration has to list it. */
function isNullable({ nullable, type, allOf, enum: values }: SchemaObject): boolean {
  if (nullable !== true || type === undefined || allOf) return false;
  return !values || values.includes(null);
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
