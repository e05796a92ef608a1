import {
  integer,
  list,
  object,
  optional,
  schema,
  text,
  texts,
  View,
} from '../../platform/http/index.js';

class GeminiErrorView extends View({
  code: integer({ example: 400, description: 'The HTTP status' }),
  message: text({ example: 'The parameter contents is required.' }),
  status: text({ example: 'INVALID_ARGUMENT' }),
}) {}

/** A failure of the routes below /v1beta, with the HTTP status of its kind. */
export class GeminiFailureView extends View({ error: object(GeminiErrorView) }) {}

/** A model that generates content or embeds it, or an agent. */
export class GeminiModelView extends View({
  name: text({ example: 'models/gemini-2.5-flash', description: 'models/ and its id' }),
  baseModelId: text({ example: 'gemini-2.5-flash' }),
  version: text({ description: 'Always 001' }),
  displayName: text({ description: 'The description of a model, or the name of an agent' }),
  inputTokenLimit: optional(integer({ description: 'Absent where it is not known' })),
  outputTokenLimit: optional(integer({ description: 'Absent where it is not known' })),
  supportedGenerationMethods: texts(),
}) {}

/** One page of models. */
export class GeminiModelsView extends View({
  models: list(GeminiModelView),
  nextPageToken: optional(text({ description: 'Absent on the last page' })),
}) {}

export class GeminiTokensView extends View({
  totalTokens: integer({
    description: 'By the vocabulary of the model where it is known, or estimated',
  }),
}) {}

class GeminiVectorView extends View({
  values: schema<readonly number[]>({ type: 'array', items: { type: 'number' } }),
}) {}

export class GeminiEmbeddingView extends View({ embedding: object(GeminiVectorView) }) {}

export class GeminiEmbeddingsView extends View({ embeddings: list(GeminiVectorView) }) {}

/** A piece of an answer, or the complete answer. */
const RESPONSE = {
  type: 'object',
  properties: {
    candidates: { type: 'array', items: { type: 'object', additionalProperties: true } },
    usageMetadata: { type: 'object', additionalProperties: true },
    modelVersion: { type: 'string' },
    responseId: { type: 'string' },
    totalTokens: { type: 'integer', description: 'countTokens' },
    embedding: {
      type: 'object',
      additionalProperties: true,
      description: 'embedContent: {values}',
    },
    embeddings: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'batchEmbedContents',
    },
  },
  additionalProperties: true,
};

/** The response of each method. */
export const GENERATED = {
  description:
    'generateContent: the response; streamGenerateContent: its pieces as events or in an array; countTokens: {totalTokens}; embedContent and batchEmbedContents: vectors',
  content: {
    'application/json': { schema: { oneOf: [RESPONSE, { type: 'array', items: RESPONSE }] } },
    'text/event-stream': { schema: { type: 'string' } },
  },
};
