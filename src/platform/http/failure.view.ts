import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiExtension, ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import {
  decimal,
  integer,
  nullable,
  object,
  optional,
  schema,
  text,
  texts,
  View,
} from './answer.js';

/** A limit of the tenant that has refused a call of a model. */
class ReachedLimitView extends View({
  id: integer({ example: 1 }),
  scope: text({ example: 'tenant', description: 'tenant, user, key or model' }),
  measure: text({ example: 'tokens-day' }),
  cap: decimal({ example: 1_000_000 }),
  used: decimal({ description: 'By calls that have ended' }),
  reserved: decimal({ description: 'What calls that run may use at most' }),
  needed: decimal({ description: 'What the refused call may use at most' }),
}) {}

/** Fields that the errors of all features may have beside their message. */
export const failureFields = {
  errorCode: optional(text({ example: 'UNKNOWN_FIELD', description: 'A stable word' })),
  field: optional(text({ example: 'rerankModel', description: 'The field that is wrong' })),
  fields: optional(texts({ description: 'The fields that are wrong' })),
  modelName: optional(text({ example: 'gpt-4o-mini' })),
  category: optional(text({ example: 'chat', description: 'Of the model' })),
  modelDimension: optional(nullable(integer({ description: 'As the model record has it' }))),
  dimension: optional(integer({ description: 'As the model answers it' })),
  providerCode: optional(text({ example: 'custom_api' })),
  known: optional(texts({ description: 'The values that are known' })),
  unknown: optional(texts({ description: 'The names that are unknown' })),
  rule: optional(text({ description: 'The rule that refuses an address' })),
  status: optional(nullable(text({ description: 'Of the media task' }))),
  limit: optional(object(ReachedLimitView, { description: 'The limit that is reached (429)' })),
  retryAfterSeconds: optional(integer({ description: 'As the header Retry-After' })),
  revision: optional(integer({ description: 'That the record has now (REVISION_CONFLICT, 409)' })),
  current: optional(
    schema<Readonly<Record<string, unknown>>>({
      type: 'object',
      additionalProperties: true,
      description: 'The record as its GET answers it now (REVISION_CONFLICT, 409)',
    }),
  ),
};

/** `data` of a failure. Most failures have none, which is null. */
export class FailureData extends View(failureFields) {}

/** How a route names the `data` of its failures to the OpenAPI document. */
export const FAILURE_DATA = 'x-failure-data';

/** Documents a route whose failures may have the view as `data`. */
export const FailsWith = (view: Type): MethodDecorator =>
  applyDecorators(ApiExtraModels(view), ApiExtension(FAILURE_DATA, { $ref: getSchemaPath(view) }));

/** Documents a route whose failures may have an array of the view as `data`. */
export const FailsWithArray = (view: Type): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(view),
    ApiExtension(FAILURE_DATA, { type: 'array', items: { $ref: getSchemaPath(view) } }),
  );
