import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { FAILURE_DATA, FailureData } from '../http/index.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];
type SchemaObject = Exclude<Schema, { $ref: string }>;

/**
 * Routes whose failures always have `data` of one view, or a body of their own with an HTTP status instead of the envelope; of
 * several bodies that which the client speaks.
 */
export type FailureViews = { readonly paths: RegExp; readonly data: Type } | BodyViews;

interface BodyViews {
  readonly paths: RegExp;
  readonly bodies: readonly Type[];
  readonly type?: string;
}

/** The value null in OpenAPI 3.0, where `nullable` has a meaning only beside a `type`. */
const NULL: SchemaObject = { type: 'object', nullable: true, enum: [null] };

const JSON_TYPE = 'application/json';

/**
 * Describes failures, which have the same HTTP status as successes: each envelope is one of both, and a route that
 * answers something else than JSON answers its failures as JSON. Health routes have no envelope.
 */
export function describeFailures(
  document: OpenAPIObject,
  codes: readonly number[],
  views: readonly FailureViews[],
): void {
  const schemas = ((document.components ??= {}).schemas ??= {});
  schemas['Failure'] = failureOf(codes, { oneOf: [refTo(FailureData), NULL] });
  for (const view of views) {
    if ('data' in view) schemas[failureName(view.data)] = failureOf(codes, refTo(view.data));
  }
  for (const [path, item] of Object.entries(document.paths)) {
    const view = views.find(({ paths }) => paths.test(path));
    if (view && 'bodies' in view) {
      for (const operation of Object.values(item as Record<string, Operation>)) {
        describeBody(operation, view);
      }
      continue;
    }
    const usual = { $ref: `#/components/schemas/${view ? failureName(view.data) : 'Failure'}` };
    for (const operation of Object.values(item as Record<string, Operation>)) {
      const { [FAILURE_DATA]: data } = operation;
      Reflect.deleteProperty(operation, FAILURE_DATA);
      const content = operation.responses?.['200']?.content;
      const success = content?.[JSON_TYPE]?.schema;
      if (!content || (success && !isEnvelope(success))) continue;
      const failure = data ? failureOf(codes, { oneOf: [data, refTo(FailureData), NULL] }) : usual;
      content[JSON_TYPE] = { schema: success ? { oneOf: [success, failure] } : failure };
    }
  }
}

/** Node answers headers that are too large before a route is looked up, without a body. */
export function describeLargeHeaders(document: OpenAPIObject, maxHeaderBytes: number): void {
  const responses = ((document.components ??= {}).responses ??= {});
  responses['HeadersTooLarge'] = {
    description: `The headers of the request have more than ${maxHeaderBytes} bytes. There is no body.`,
  };
  for (const item of Object.values(document.paths)) {
    for (const { responses } of Object.values(item as Record<string, AnsweringOperation>)) {
      if (responses) responses['431'] = { $ref: '#/components/responses/HeadersTooLarge' };
    }
  }
}

interface AnsweringOperation {
  readonly responses?: Record<string, { readonly $ref: string }>;
}

function describeBody({ responses }: Operation, { bodies, type = JSON_TYPE }: BodyViews): void {
  if (!responses) return;
  const refs = bodies.map(refTo);
  const schema = refs.length > 1 ? { oneOf: refs } : refs[0];
  const content: Content = { [type]: { ...(schema && { schema }) } };
  responses['default'] = { description: 'A failure, with its HTTP status', content };
}

interface Operation {
  [FAILURE_DATA]?: Schema;
  readonly responses?: Record<
    string,
    { readonly description?: string; readonly content?: Content }
  >;
}
type Content = Record<string, { schema?: Schema }>;

function failureName({ name }: Type): string {
  return name.replace(/Data$/, '');
}

function failureOf(codes: readonly number[], data: Schema): SchemaObject {
  return {
    type: 'object',
    required: ['code', 'msg', 'data'],
    properties: {
      code: { type: 'integer', enum: [...codes] },
      msg: { type: 'string', example: 'name must not be empty.' },
      data,
    },
  };
}

function refTo(view: Type): Schema {
  return { $ref: getSchemaPath(view) };
}

function isEnvelope(schema: Schema): boolean {
  return 'properties' in schema && schema.properties?.['code'] !== undefined;
}

/**
 * Writes what is nullable so that a strict reader of OpenAPI 3.0 accepts null: the values of an enumeration have to
 * include it, and a reference has to be one of two possibilities.
 */
export function describeNulls(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  for (const inner of Object.values(part)) describeNulls(inner);
  const schema = part as SchemaObject;
  if (schema.nullable !== true) return;
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
  if (!schema.allOf) return;
  const { allOf } = schema;
  schema.oneOf = [...allOf, NULL];
  delete schema.allOf;
  delete schema.type;
  delete schema.nullable;
}
