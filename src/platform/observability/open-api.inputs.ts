import type { OpenAPIObject } from '@nestjs/swagger';
import { JSON_BODY } from '../http/index.js';

type Content = Record<string, { readonly schema?: object }>;

interface Operation {
  [JSON_BODY]?: object;
  readonly requestBody?: { content: Content };
}

/** Describes what a route reads where the decorators of Nest cannot: a JSON body in place of a form. */
export function describeInputs(document: OpenAPIObject): void {
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item as Record<string, Operation>)) {
      const { [JSON_BODY]: schema, requestBody } = operation;
      Reflect.deleteProperty(operation, JSON_BODY);
      if (schema && requestBody) requestBody.content['application/json'] = { schema };
    }
  }
}
