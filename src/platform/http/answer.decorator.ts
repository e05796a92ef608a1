import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';

type Schema = Record<string, unknown>;

/** The schema of a value that is always null. */
const NULL = { type: 'object', nullable: true, enum: [null] };

const TEXT: Schema = { type: 'string' };
const BYTES: Schema = { type: 'string', format: 'binary' };

/** Documents a route that answers `{code, msg, data}` with `data` of the given view. */
export const Answers = (view: Type): MethodDecorator => documented(view, { data: ref(view) });

/** Documents a route whose `data` is the given view, or null where there is none. */
export const AnswersNullable = (view: Type): MethodDecorator =>
  documented(view, { data: { nullable: true, allOf: [ref(view)] } });

/** Documents a route whose `data` is an array of the given view, and the fields that stand beside it, all or some always. */
export const AnswersArray = (
  view: Type,
  beside: Schema = {},
  always: readonly string[] = Object.keys(beside),
): MethodDecorator =>
  documented(view, { data: { type: 'array', items: ref(view) }, ...beside }, ['data', ...always]);

/** Documents a `/list` route: `{code, msg, total, rows}`, no `data`. */
export const AnswersPage = (view: Type): MethodDecorator =>
  documented(view, {
    total: { type: 'integer' },
    rows: { type: 'array', items: ref(view) },
  });

/** Documents the route whose array is read under both names: `{code, msg, data, total, rows}`. */
export const AnswersArrayAndPage = (view: Type): MethodDecorator => {
  const rows = { type: 'array', items: ref(view) };
  return documented(view, { data: rows, total: { type: 'integer' }, rows });
};

/** Documents a route that answers a status only: `data` is null. */
export const AnswersStatus = (): MethodDecorator =>
  ApiOkResponse({ schema: envelopeSchema({ data: NULL }) });

/** Documents a route whose `data` is a text. */
export const AnswersText = (example: string): MethodDecorator =>
  ApiOkResponse({ schema: envelopeSchema({ data: { type: 'string', example } }) });

/** Documents a route whose `data` is the id of the created record; chat ids are strings of digits. */
export const AnswersId = (type: 'integer' | 'string'): MethodDecorator =>
  ApiOkResponse({
    schema: envelopeSchema({ data: { type, example: type === 'string' ? '1' : 1 } }),
  });

/** Documents a route that answers something other than JSON: an event stream, a text or bytes. */
export const AnswersRaw = (mediaType: string, description: string): MethodDecorator =>
  ApiOkResponse({
    description,
    content: { [mediaType]: { schema: mediaType.startsWith('text/') ? TEXT : BYTES } },
  });

/** Documents a route that answers an attachment of one of the types. Clients read it as bytes, also where it is a text. */
export const AnswersFile = (
  mediaTypes: string | readonly string[],
  description: string,
): MethodDecorator =>
  ApiOkResponse({
    description,
    content: Object.fromEntries([mediaTypes].flat().map((type) => [type, { schema: BYTES }])),
  });

/** Documents a route that answers the envelope of the view, or an attachment where the client asks for one. */
export const AnswersOrFile = (
  view: Type,
  mediaType: string,
  description: string,
): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(view),
    ApiOkResponse({
      description,
      content: {
        'application/json': { schema: envelopeSchema({ data: ref(view) }) },
        [mediaType]: { schema: BYTES },
      },
    }),
  );

/** Documents a route that `answerInSteps` answers: the envelope of the view, or frames. */
export const AnswersInSteps = (view: Type, frames: string): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(view),
    ApiOkResponse({
      description: frames,
      content: {
        'application/json': { schema: envelopeSchema({ data: ref(view) }) },
        'text/event-stream': { schema: TEXT },
      },
    }),
  );

function documented(
  view: Type,
  properties: Schema,
  always: readonly string[] = Object.keys(properties),
): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(view),
    ApiOkResponse({ schema: envelopeSchema(properties, always) }),
  );
}

function ref(view: Type): Schema {
  return { $ref: getSchemaPath(view) };
}

/** The schema of a success; platform/observability/open-api.answers.ts describes failures beside it. */
function envelopeSchema(
  properties: Schema,
  always: readonly string[] = Object.keys(properties),
): Schema {
  return {
    type: 'object',
    required: ['code', 'msg', ...always],
    properties: {
      code: { type: 'integer', enum: [200], example: 200 },
      msg: { type: 'string', example: 'Done.', description: 'May carry a warning' },
      ...properties,
    },
  };
}
