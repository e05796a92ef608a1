import {
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  schema,
  text,
  View,
} from '../../platform/http/index.js';

class AnthropicErrorView extends View({
  type: text({ example: 'invalid_request_error' }),
  message: text({ example: 'The parameter max_tokens is required.' }),
}) {}

/** A failure of the routes below /v1/messages, with the HTTP status of its kind. */
export class AnthropicFailureView extends View({
  type: oneOf(['error']),
  error: object(AnthropicErrorView),
  request_id: nullable(text({ description: 'Also in the headers request-id and X-Request-Id' })),
}) {}

/** A relayed model may return more fields. */
export class TokenCountView extends View({
  input_tokens: integer({ description: 'Counted by the service, or estimated by Plinth' }),
}) {}

/** A model or agent that answers messages. */
export class AnthropicModelView extends View({
  type: oneOf(['model']),
  id: text({ example: 'claude-sonnet-4-5' }),
  display_name: text({ description: 'The description of a model, or the name of an agent' }),
  created_at: text({ description: 'RFC 3339' }),
  max_input_tokens: nullable(integer({ description: 'The context window; null: unknown' })),
  max_tokens: nullable(integer({ description: 'Tokens of an answer; null: unknown' })),
  capabilities: nullable(
    schema<object>({
      type: 'object',
      additionalProperties: true,
      description:
        'null: unknown. Each capability has supported; others than image_input are those of Plinth',
      example: { image_input: { supported: true } },
    }),
  ),
  lifecycle: oneOf(['active']),
  line: nullable(text({ description: 'null' })),
  deprecated_at: nullable(text({ description: 'null' })),
  retires_at: nullable(text({ description: 'null' })),
}) {}

export class AnthropicModelsView extends View({
  data: list(AnthropicModelView),
  has_more: flag({
    description: 'Whether more follow after last_id; with before_id, before first_id',
  }),
  first_id: nullable(text()),
  last_id: nullable(text()),
}) {}

/** Fields that every message has. A relayed model may return more. */
export const MESSAGE_SCHEMA = {
  type: 'object',
  required: ['id', 'type', 'role', 'model', 'content', 'stop_reason'],
  properties: {
    id: { type: 'string' },
    type: { type: 'string', example: 'message' },
    role: { type: 'string', example: 'assistant' },
    model: { type: 'string' },
    content: { type: 'array', items: { type: 'object', additionalProperties: true } },
    stop_reason: { type: 'string', nullable: true, example: 'end_turn' },
    stop_sequence: { type: 'string', nullable: true },
    usage: {
      // A relayed answer passes its service's fields through.
      anyOf: [{ type: 'object', nullable: true, additionalProperties: true }, {}],
    },
    sources: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'The fragments that an agent was given; citations say which it cites',
    },
  },
  additionalProperties: true,
};
