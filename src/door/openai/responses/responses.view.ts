import { flag, nullable, oneOf, schema, text, View } from '../../../platform/http/index.js';

const ITEMS = { type: 'array', items: { type: 'object', additionalProperties: true } } as const;

export class InputItemsView extends View({
  object: oneOf(['list']),
  data: schema<readonly Readonly<Record<string, unknown>>[]>(ITEMS),
  first_id: nullable(text()),
  last_id: nullable(text()),
  has_more: flag(),
}) {}

export class DeletedResponseView extends View({
  id: text({ example: 'resp_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  object: oneOf(['response']),
  deleted: flag(),
}) {}

export const RESPONSE_SCHEMA = {
  type: 'object',
  required: ['id', 'object', 'created_at', 'model', 'output', 'status'],
  properties: {
    id: { type: 'string', example: 'resp_0c1f2e3d4b5a69788796a5b4c3d2e1f0' },
    object: { type: 'string', example: 'response' },
    created_at: { type: 'integer' },
    status: { type: 'string', example: 'completed' },
    model: { type: 'string' },
    output: ITEMS,
    usage: { type: 'object', nullable: true, additionalProperties: true },
    sources: { ...ITEMS, description: 'The fragments that an agent was given' },
  },
  additionalProperties: true,
};
