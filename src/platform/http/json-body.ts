import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiExtension, ApiExtraModels, getSchemaPath } from '@nestjs/swagger';

/** How a route with a form names its JSON body to the OpenAPI document, where all media types of a route have one schema. */
export const JSON_BODY = 'x-json-body';

/** Documents a route that reads a form, and the class as JSON in its place. */
export const ReadsJson = (body: Type): MethodDecorator =>
  applyDecorators(ApiExtraModels(body), ApiExtension(JSON_BODY, { $ref: getSchemaPath(body) }));
