import { z } from 'zod';
import {
  flag,
  integer,
  nullable,
  oneOf,
  schema,
  text,
  View,
} from '../../../platform/http/index.js';
import { parameters } from '../../answer/parameters.js';

/** One item of a request or an answer. */
export const ITEM_SCHEMA = { type: 'object', additionalProperties: true } as const;

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

export class ConversationView extends View({
  id: text({ example: 'conv_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  object: oneOf(['conversation']),
  created_at: integer(),
  metadata: schema<Readonly<Record<string, unknown>>>(ITEM_SCHEMA),
}) {}

export class DeletedConversationView extends View({
  id: text({ example: 'conv_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  object: oneOf(['conversation.deleted']),
  deleted: flag(),
}) {}

export class InputTokensView extends View({
  object: oneOf(['response.input_tokens']),
  input_tokens: integer({ example: 42 }),
}) {}

const pageQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(100).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  after: z.string().max(200).optional(),
});

const storedQuery = z.looseObject({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: z.coerce.number().int().min(0).optional(),
  include: z.union([z.string(), z.array(z.string()).max(100)]).optional(),
});

/** Parses the query for a stored response. Throws ParameterError. */
export function storedResponseQuery(query: unknown): z.output<typeof storedQuery> {
  return parameters(storedQuery, query);
}

/** Parses the query for a page of items. Throws ParameterError. */
export function itemPage(query: unknown): z.output<typeof pageQuery> {
  return parameters(pageQuery, query);
}

export function idOf(item: Readonly<Record<string, unknown>> | undefined): string | null {
  const id = item?.['id'];
  return typeof id === 'string' ? id : null;
}
