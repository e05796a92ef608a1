import { AsSent, Given, Input } from '../../platform/http/index.js';

const TEXT = { type: 'string' } as const;
const INTEGER = { type: 'integer' } as const;
const OBJECT = { type: 'object', additionalProperties: true } as const;

/** Checked by batches.service.ts. */
@AsSent()
export class BatchBody extends Input({
  input_file_id: Given(TEXT, {
    description: 'Required. A file of the purpose batch with one request a line',
    example: 'file-0c1f2e3d4b5a69788796a5b4c3d2e1f0',
  }),
  endpoint: Given(TEXT, {
    description:
      'Required. /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/completions or /v1/moderations',
    example: '/v1/chat/completions',
  }),
  completion_window: Given(TEXT, { description: 'Required. 24h', example: '24h' }),
  metadata: Given(OBJECT, { description: 'At most 16 texts that are answered as they were sent' }),
  output_expires_after: Given(OBJECT, {
    description:
      '{anchor: "created_at", seconds}: how long files of results are kept; default 30 days',
  }),
}) {}

export class BatchesQuery extends Input({
  after: Given(TEXT, { description: 'The id of the last batch of the page before' }),
  limit: Given(INTEGER, { description: '1 to 100; default 20' }),
}) {}

/** Checked by batches.service.ts. */
@AsSent()
export class MessageBatchBody extends Input({
  requests: Given(
    { type: 'array', items: OBJECT },
    {
      description: 'Required. {custom_id, params}, with params as of POST /v1/messages',
      example: [
        {
          custom_id: 'first',
          params: {
            model: 'claude-sonnet-4-5',
            max_tokens: 100,
            messages: [{ role: 'user', content: 'Hello' }],
          },
        },
      ],
    },
  ),
}) {}

export class MessageBatchesQuery extends Input({
  after_id: Given(TEXT, { description: 'The page after this batch' }),
  before_id: Given(TEXT, { description: 'The page before this batch' }),
  limit: Given(INTEGER, { description: '1 to 1000; default 20' }),
}) {}
