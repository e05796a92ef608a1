import {
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  schema,
  text,
  texts,
  View,
} from '../../platform/http/index.js';

class OpenAiErrorView extends View({
  message: text({ example: 'messages must not be empty.' }),
  type: text({ example: 'invalid_request_error' }),
  param: nullable(text({ example: 'messages', description: 'The parameter that is wrong' })),
  code: nullable(text({ example: 'invalid_value' })),
}) {}

/** A failure of the routes below /v1, with the HTTP status of its kind. */
export class OpenAiFailureView extends View({ error: object(OpenAiErrorView) }) {}

class ArchitectureView extends View({
  modality: text({ example: 'text+image->text' }),
  input_modalities: texts({ example: ['text', 'image'] }),
  output_modalities: texts({ example: ['text'] }),
}) {}

class TopProviderView extends View({
  context_length: optional(integer()),
  max_completion_tokens: optional(integer()),
}) {}

class OpenAiCapabilitiesView extends View({
  completion_chat: flag(),
  function_calling: optional(flag({ description: 'Calls tools of the client' })),
  vision: optional(flag({ description: 'Sees images' })),
}) {}

export class OpenAiModelView extends View({
  id: text({
    example: 'gpt-4o-mini',
    description: 'The modelName of a model, or agent-<id> of an agent',
  }),
  name: text({
    example: 'GPT-4o mini',
    description: 'For people: the description of a model, or the name of an agent',
  }),
  object: oneOf(['model']),
  created: integer({ description: 'Seconds since the epoch' }),
  owned_by: text({ example: 'openai', description: 'The provider code, or plinth for agents' }),
  category: text({ example: 'chat', description: 'As models are stored; chat for agents' }),
  context_length: optional(
    integer({ example: 128_000, description: 'Tokens in all. Absent, as any other fact: unknown' }),
  ),
  context_window: optional(integer({ description: 'The same' })),
  max_model_len: optional(integer({ description: 'The same' })),
  max_completion_tokens: optional(integer({ description: 'Tokens of an answer' })),
  architecture: object(ArchitectureView),
  top_provider: optional(object(TopProviderView)),
  capabilities: object(OpenAiCapabilitiesView),
  supported_parameters: optional(
    texts({ example: ['tools', 'tool_choice'], description: 'Absent: unknown' }),
  ),
}) {}

export class OpenAiModelsView extends View({
  object: oneOf(['list']),
  data: list(OpenAiModelView),
}) {}

class EmbeddingView extends View({
  object: oneOf(['embedding']),
  index: integer(),
  embedding: schema<readonly number[] | string>({
    // Nest drops the type next to oneOf, and accepts no schema without a type.
    type: Array,
    oneOf: [
      { type: 'array', items: { type: 'number' } },
      { type: 'string', format: 'byte' },
    ],
    description: 'Numbers, or with encoding_format base64 their 32-bit floats, little-endian',
  }),
}) {}

class EmbeddingUsageView extends View({
  prompt_tokens: integer(),
  total_tokens: integer(),
}) {}

export class EmbeddingsView extends View({
  object: oneOf(['list']),
  model: text({ example: 'text-embedding-3-small' }),
  data: list(EmbeddingView),
  usage: object(EmbeddingUsageView),
}) {}

class RerankedTextView extends View({ text: text() }) {}

class RerankResultView extends View({
  index: integer({ description: 'Of the document in the request' }),
  relevance_score: number({ description: 'In the scale of the model' }),
  document: optional(object(RerankedTextView)),
}) {}

/** Documents ordered by a rerank model, best first. */
export class RerankView extends View({
  model: text({ example: 'rerank-v3.5' }),
  results: list(RerankResultView),
}) {}

/** Moderation results. A service may return more fields. */
export const MODERATIONS_SCHEMA = {
  type: 'object',
  required: ['id', 'model', 'results'],
  properties: {
    id: { type: 'string', example: 'modr-970d409ef3bef3b70c73d8232df86e7d' },
    model: { type: 'string', example: 'omni-moderation-latest' },
    results: {
      type: 'array',
      items: {
        type: 'object',
        required: ['flagged', 'categories'],
        properties: {
          flagged: { type: 'boolean' },
          categories: { type: 'object', additionalProperties: true },
        },
        additionalProperties: true,
      },
    },
  },
  additionalProperties: true,
};

class ImageView extends View({
  url: optional(text({ description: 'Also a data address' })),
  b64_json: optional(text({ description: 'The image in base64' })),
}) {}

/** Images, each by its address or in base64. */
export class ImagesView extends View({
  created: integer({ description: 'Seconds since the epoch' }),
  data: list(ImageView),
}) {}

/** Fields that every chat completion has. A relayed model may return more. */
export const CHAT_COMPLETION_SCHEMA = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices'],
  properties: {
    id: { type: 'string' },
    object: { type: 'string', example: 'chat.completion' },
    created: { type: 'integer' },
    model: { type: 'string' },
    choices: { type: 'array', items: { type: 'object', additionalProperties: true } },
    usage: {
      // A relayed answer passes its service's fields through.
      anyOf: [{ type: 'object', nullable: true, additionalProperties: true }, {}],
    },
    sources: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'The fragments that an agent was given; message.annotations says which it cites',
    },
  },
  additionalProperties: true,
};

/** A transcript in a JSON format. A service may return more fields. */
export const TRANSCRIPT_SCHEMA = {
  description: 'The transcript in the format that was asked for, or its events',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['text'],
        properties: { text: { type: 'string' } },
        additionalProperties: true,
      },
    },
    'text/plain': { schema: { type: 'string' } },
    'text/event-stream': { schema: { type: 'string' } },
  },
};

export const TEXT_COMPLETION_SCHEMA = {
  type: 'object',
  required: ['id', 'object', 'created', 'model', 'choices', 'usage'],
  properties: {
    id: { type: 'string' },
    object: { type: 'string', example: 'text_completion' },
    created: { type: 'integer' },
    model: { type: 'string' },
    choices: {
      type: 'array',
      items: {
        type: 'object',
        required: ['text', 'index', 'finish_reason'],
        properties: {
          text: { type: 'string' },
          index: { type: 'integer' },
          logprobs: { type: 'object', nullable: true },
          finish_reason: { type: 'string', nullable: true },
        },
      },
    },
    usage: { type: 'object', additionalProperties: true },
  },
};
