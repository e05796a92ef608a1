import { describe, expect, test } from '@jest/globals';
import { UpstreamError } from './upstream.error.js';
import { errorIn, errorInAnswer, errorOfAnswer, parseRecord, throwIfError } from './vendor-json.js';
import { isWebPage } from './safe-text.js';

// Bodies in the wording of public reports, each named after its service: issues of BerriAI/litellm, vllm-project/vllm, ggml-org/llama.cpp,
// FlowiseAI/Flowise and ollama/ollama that quote what a service answered, and the patterns in packages/ai/src/utils/overflow.ts of
// earendil-works/pi. The form around a text is that of the service's error reference; few were compared with it word by word.

const credential = 'sk-live-Ab12Cd34Ef56Gh78';
const secrets = { credential, address: 'https://models.acme-inner.lan/v1' };

interface Expected {
  readonly kind: string;
  readonly says: string | undefined;
  readonly retryable?: boolean;
  readonly isExhausted?: boolean;
}

function failure(status: number, body: unknown, contentType = 'application/json'): UpstreamError {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return errorOfAnswer({ status, body: text, contentType }, secrets);
}

const TOO_LONG = { kind: 'context-length', retryable: false };

describe('a request that is longer than the window', () => {
  test.each<[string, number, unknown]>([
    [
      'OpenAI chat',
      400,
      {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'OpenAI responses',
      400,
      {
        error: {
          message:
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
          type: 'invalid_request_error',
          param: 'input',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'Azure',
      400,
      { error: { message: 'Input tokens exceed the configured limit of 272000 tokens.' } },
    ],
    [
      'Anthropic',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 213462 tokens > 200000 maximum',
        },
      },
    ],
    [
      'Anthropic with the answer',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
        },
      },
    ],
    ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
    [
      'Gemini',
      400,
      [
        {
          error: {
            code: 400,
            message:
              'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    ],
    [
      'DashScope',
      400,
      {
        error: {
          message:
            '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_parameter_error',
        },
        request_id: '7ee2d8c5',
      },
    ],
    [
      'vLLM',
      400,
      {
        object: 'error',
        message:
          "This model's maximum context length is 4096 tokens. However, you requested 5020 tokens (5000 in the messages, 20 in the completion). Please reduce the length of the messages or completion.",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    ],
    [
      'SGLang',
      400,
      {
        object: 'error',
        message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        type: 'BadRequestError',
        code: 400,
      },
    ],
    [
      'llama.cpp',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size, try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 5000,
          n_ctx: 4096,
        },
      },
    ],
    [
      'LM Studio',
      400,
      {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
      },
    ],
    [
      'LM Studio, older',
      400,
      {
        error:
          'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
      },
    ],
    ['Ollama', 400, { error: 'prompt too long; exceeded max context length by 904 tokens' }],
    ['Ollama embeddings', 400, { error: 'the input length exceeds the context length' }],
    [
      'Groq',
      400,
      {
        error: {
          message: 'Please reduce the length of the messages or completion.',
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'Mistral',
      400,
      {
        object: 'error',
        message:
          'Prompt contains 40025 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_prompt',
        code: 3051,
      },
    ],
    [
      'OpenRouter',
      400,
      {
        error: {
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input, 1000 in the output).",
          code: 400,
          metadata: { provider_name: null },
        },
      },
    ],
    [
      'Kimi',
      400,
      {
        error: {
          message:
            'Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)',
          type: 'invalid_request_error',
        },
      },
    ],
    ['GLM', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
    ['GLM in Chinese', 400, { error: { code: '1261', message: 'Prompt 超长' } }],
    [
      'xAI',
      400,
      {
        code: 'Client specified an invalid argument',
        error:
          "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
    ],
    [
      'TGI',
      422,
      {
        error: 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5000',
        error_type: 'validation',
      },
    ],
    [
      'Cohere',
      400,
      {
        message:
          'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292',
      },
    ],
    [
      'a gateway',
      400,
      {
        error: {
          message:
            'litellm.ContextWindowExceededError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
          type: null,
          code: '400',
        },
      },
    ],
    [
      'a status of size',
      413,
      { error: { message: 'The prompt has 9000 tokens, the limit is 8000 tokens' } },
    ],
  ])('of %s', (_name, status, body) => {
    const error = failure(status, body);
    expect(error).toMatchObject(TOO_LONG);
    expect(error.vendorText).toMatch(/token|length|long|context|超长/);
  });

  test('in an answer with status 200 of MiniMax', () => {
    const answer = {
      choices: null,
      base_resp: {
        status_code: 2013,
        status_msg: 'invalid params, context window exceeds limit (2013)',
      },
    };
    expect(() => throwIfError(answer, secrets)).toThrow('context window exceeds limit');
    expect(errorInAnswer(answer.base_resp, secrets)).toMatchObject(TOO_LONG);
  });
});

describe('a request that is not longer than the window', () => {
  test.each<[string, number, unknown, Expected]>([
    [
      'the answer is too long (OpenAI)',
      400,
      {
        error: {
          message:
            'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
          type: 'invalid_request_error',
          param: 'max_tokens',
          code: 'invalid_value',
        },
      },
      { kind: 'invalid-request', says: 'max_tokens is too large' },
    ],
    [
      'the answer is too long (vLLM)',
      400,
      {
        object: 'error',
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens and your request has 20 input tokens",
        type: 'BadRequestError',
        code: 400,
      },
      { kind: 'invalid-request', says: 'is too large: 40000' },
    ],
    [
      'the answer is too long (DashScope)',
      400,
      {
        error: {
          message:
            '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]',
          code: 'invalid_parameter_error',
        },
      },
      { kind: 'invalid-request', says: 'Range of max_tokens should be' },
    ],
    [
      'tokens a minute (Groq)',
      413,
      {
        error: {
          message:
            'Request too large for model `llama-3.1-8b-instant` in organization on tokens per minute (TPM): Limit 6000, Requested 7030, please reduce your message size and try again.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
      { kind: 'rate-limit', says: 'tokens per minute (TPM)', retryable: false },
    ],
    [
      'tokens a minute (OpenAI)',
      429,
      {
        error: {
          message:
            'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
      { kind: 'rate-limit', says: 'Rate limit reached', retryable: true },
    ],
    [
      'throttling (Bedrock)',
      429,
      {
        __type: 'ThrottlingException',
        message: 'Too many tokens, please wait before trying again.',
      },
      { kind: 'rate-limit', says: 'please wait', retryable: true },
    ],
  ])('%s', (_name, status, body, { says = '', ...expected }) => {
    const error = failure(status, body);
    expect(error).toMatchObject(expected);
    expect(error.vendorText).toContain(says);
  });
});

describe('what a service says reaches the reader', () => {
  test.each<[string, number, unknown, Expected]>([
    [
      'a text that begins with <',
      400,
      '<400> InternalError.Algo.InvalidParameter: The model is not allowed here',
      { kind: 'invalid-request', says: 'not allowed here' },
    ],
    [
      'an error that is a text',
      400,
      { error: 'tools are not supported' },
      { kind: 'invalid-request', says: 'tools are not supported' },
    ],
    [
      'an array (Google)',
      400,
      [
        {
          error: {
            code: 400,
            message: 'API key not valid. Please pass a valid API key.',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      { kind: 'authentication', says: 'API key not valid' },
    ],
    [
      'detail as a text (FastAPI)',
      400,
      { detail: 'Model is still loading' },
      { kind: 'invalid-request', says: 'still loading' },
    ],
    [
      'detail as a list (FastAPI)',
      422,
      {
        detail: [
          { loc: ['body', 'messages', 0, 'content'], msg: 'Field required', type: 'missing' },
        ],
      },
      { kind: 'invalid-request', says: 'messages.0.content: Field required' },
    ],
    [
      'a message with detail (Mistral)',
      422,
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'foo'],
              msg: 'Extra inputs are not permitted',
              input: 1,
            },
          ],
        },
        type: 'invalid_request_error',
        code: null,
      },
      { kind: 'invalid-request', says: 'foo: Extra inputs are not permitted' },
    ],
    [
      'a list of errors',
      400,
      { errors: [{ message: 'First.' }, { message: 'Second.' }] },
      { kind: 'invalid-request', says: 'First.; Second.' },
    ],
    [
      'code and message (DashScope)',
      401,
      { code: 'InvalidApiKey', message: 'Invalid API-key provided.', request_id: '1' },
      { kind: 'authentication', says: 'Invalid API-key provided.' },
    ],
    [
      'Message (AWS)',
      403,
      { Message: 'User is not authorized to perform: bedrock:InvokeModel' },
      { kind: 'authentication', says: 'not authorized' },
    ],
    [
      'error_msg (Baidu)',
      400,
      { error_code: 336003, error_msg: 'the role of the last message is wrong' },
      { kind: 'invalid-request', says: 'the last message' },
    ],
    [
      'an error beside a message',
      400,
      { error: 'Bad Request', message: 'Unknown tool type', statusCode: 400 },
      { kind: 'invalid-request', says: 'Bad Request: Unknown tool type' },
    ],
    [
      'plain text',
      503,
      'no healthy upstream',
      { kind: 'overloaded', says: 'no healthy upstream', retryable: true },
    ],
    [
      'what is behind a gateway (OpenRouter)',
      400,
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            raw: '{"error":{"message":"Tool names must be unique.","type":"invalid_request_error"}}',
            provider_name: 'X',
          },
        },
      },
      { kind: 'invalid-request', says: 'Provider returned error: Tool names must be unique.' },
    ],
    [
      'JSON in a text',
      400,
      { error: { message: 'BedrockException - {"message":"The toolConfig field is wrong."}' } },
      { kind: 'invalid-request', says: 'BedrockException: The toolConfig field is wrong.' },
    ],
    [
      'XML',
      403,
      '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied by policy</Message></Error>',
      { kind: 'authentication', says: 'Access Denied by policy' },
    ],
    [
      'a model that is not there (DeepSeek)',
      400,
      {
        error: {
          message: 'Model Not Exist',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
      { kind: 'not-found', says: 'Model Not Exist' },
    ],
    [
      'a content filter (Azure)',
      400,
      {
        error: {
          message:
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
      { kind: 'invalid-request', says: 'content management policy', retryable: false },
    ],
    [
      'a content filter (DashScope)',
      400,
      {
        error: {
          code: 'data_inspection_failed',
          message: 'Input data may contain inappropriate content.',
        },
      },
      { kind: 'invalid-request', says: 'inappropriate content' },
    ],
    [
      'a used up quota (OpenAI)',
      429,
      {
        error: {
          message: 'You exceeded your current quota, please check your plan and billing details.',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
      },
      { kind: 'rate-limit', says: 'current quota', retryable: false, isExhausted: true },
    ],
    [
      'no balance (DeepSeek)',
      402,
      {
        error: {
          message: 'Insufficient Balance',
          type: 'unknown_error',
          code: 'invalid_request_error',
        },
      },
      {
        kind: 'rate-limit',
        says: 'Insufficient Balance',
        retryable: false,
        isExhausted: true,
      },
    ],
    [
      'no credit (Anthropic)',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the Anthropic API.',
        },
      },
      { kind: 'rate-limit', says: 'credit balance', retryable: false, isExhausted: true },
    ],
    [
      'a debt (DashScope)',
      400,
      {
        error: {
          code: 'Arrearage',
          message: 'Access denied, please make sure your account is in good standing.',
        },
      },
      { kind: 'rate-limit', says: 'good standing', isExhausted: true },
    ],
    [
      'a limit of the rate that names the quota (Google)',
      429,
      [
        {
          error: {
            code: 429,
            message: 'Quota exceeded for metric generate_content_requests, limit: 10',
            status: 'RESOURCE_EXHAUSTED',
          },
        },
      ],
      { kind: 'rate-limit', says: 'Quota exceeded', retryable: true, isExhausted: false },
    ],
    [
      'overload (Anthropic)',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { kind: 'overloaded', says: 'Overloaded', retryable: true },
    ],
  ])('%s', (_name, status, body, { says = '', ...expected }) => {
    const error = failure(status, body);
    expect(error).toMatchObject({ status, ...expected });
    expect(error.vendorText).toContain(says);
    expect(error.message).toContain(says);
  });

  test.each([
    '<!DOCTYPE html><html><body>502</body></html>',
    '<html>\r\n<head><title>502 Bad Gateway</title></head></html>',
    '<!-- page --><!doctype HTML><p>no</p>',
    '<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html></html>',
  ])('but not a web page: %s', (page) => {
    expect(isWebPage(page)).toBe(true);
    expect(failure(502, page, 'text/plain').vendorText).toBeUndefined();
    expect(failure(502, { error: { message: page } }).vendorText).toBeUndefined();
  });

  test('and no secret, however deep the text stands', () => {
    const inner = JSON.stringify({
      error: { message: `Key ${credential} at models.acme-inner.lan refused` },
    });
    const { message } = failure(400, { error: { message: 'x', metadata: { raw: inner } } });
    expect(message).toContain('refused');
    expect(message).not.toMatch(/Ab12|acme-inner/);
    expect(failure(400, { error: 'word '.repeat(500) }).vendorText).toHaveLength(300);
  });
});

describe('how long a service asks to wait', () => {
  // Gemini: google-gemini/gemini-cli, error reference of Google (google.rpc.RetryInfo); OpenAI: openai/openai-dotnet issue 404; Azure:
  // icereed/paperless-gpt issue 814. Read 2026-11.
  const gemini = {
    error: {
      code: 429,
      message: 'You exceeded your current quota. Please retry in 38.203s.',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '38s' },
      ],
    },
  };
  const openAi = (wait: string): unknown => ({
    error: {
      message: `Rate limit reached for gpt-4o-mini on tokens per min (TPM): Limit 100000, Used 96749. Please try again in ${wait}. Visit https://x.test.`,
      code: 'rate_limit_exceeded',
    },
  });

  test.each<[string, number, unknown, number | undefined]>([
    ['Gemini', 429, [gemini], 38_000],
    ['Gemini without details', 429, { error: { ...gemini.error, details: [] } }, 38_203],
    ['OpenAI', 429, openAi('1.2s'), 1_200],
    ['OpenAI', 429, openAi('20ms'), 20],
    ['OpenAI', 429, openAi('6m0s'), 360_000],
    ['Groq', 429, openAi('7m12.345s'), 432_345],
    ['OpenAI, cut to a day', 429, openAi('114h18m0s'), 24 * 3_600_000],
    ['Azure', 429, { error: { message: 'Too many. Please retry after 45 seconds.' } }, 45_000],
    ['in Chinese', 429, { error: { message: '请求过于频繁，请 5 秒后重试' } }, 5_000],
    ['overloaded', 503, { error: { message: 'Busy, try again in about 2 minutes' } }, 120_000],
    ['nothing', 429, { error: { message: 'Please try again later, in a minute.' } }, undefined],
    ['no use', 400, { error: { message: 'Remove the image and try again in 5s.' } }, undefined],
  ])('%s (%s): %j', (_, status, body, expected) => {
    expect(failure(status, body).retryAfterMs).toBe(expected);
  });

  test('by a header, which counts first, and in an event of a stream', () => {
    const answer = { status: 429, body: JSON.stringify(openAi('9s')), retryAfterMs: 2_000 };
    expect(errorOfAnswer(answer, secrets).retryAfterMs).toBe(2_000);
    expect(errorInAnswer(openAi('9s'), secrets).retryAfterMs).toBe(9_000);
  });
});

describe('an error in an answer with status 200', () => {
  test.each<[string, unknown, Expected]>([
    [
      'base_resp (MiniMax)',
      { id: '', base_resp: { status_code: 1002, status_msg: 'rate limit exceeded' } },
      { kind: 'rate-limit', says: 'rate limit exceeded', retryable: true },
    ],
    [
      'base_resp beside choices',
      { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
      { kind: 'rate-limit', says: 'insufficient balance', isExhausted: true },
    ],
    [
      'base_resp of the content',
      { choices: [], base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } },
      { kind: 'invalid-request', says: 'input new_sensitive', retryable: false },
    ],
    [
      'an error without a code',
      { error: { message: 'The engine died.' } },
      { kind: 'invalid-request', says: 'The engine died.' },
    ],
    [
      'an error that is a text',
      { error: 'Internal server error' },
      { kind: 'overloaded', says: 'Internal server error', retryable: true },
    ],
    [
      'a message alone',
      { message: 'Too many requests' },
      { kind: 'rate-limit', says: 'Too many requests', retryable: true },
    ],
    ['detail', { detail: 'Out of memory' }, { kind: 'invalid-request', says: 'Out of memory' }],
    [
      'an array',
      [{ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }],
      { kind: 'overloaded', says: 'overloaded', retryable: true },
    ],
    [
      'a choice',
      {
        choices: [
          { error: { code: 502, message: 'Provider disconnected' }, finish_reason: 'error' },
        ],
      },
      { kind: 'overloaded', says: 'Provider disconnected' },
    ],
    [
      'an event of the messages protocol',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { kind: 'overloaded', says: 'Overloaded' },
    ],
  ])('%s', (_name, answer, { says = '', ...expected }) => {
    const error = errorIn(answer);
    expect(error).toBeDefined();
    const failed = errorInAnswer(error, secrets);
    expect(failed).toMatchObject(expected);
    expect(failed.vendorText).toContain(says);
  });

  test.each<[string, unknown]>([
    [
      'a choice',
      { choices: [{ delta: { content: 'error' } }], base_resp: { status_code: 0, status_msg: '' } },
    ],
    ['usage alone', { choices: [], usage: { total_tokens: 1 } }],
    ['null', { id: 'x', error: null, choices: [{ message: { content: 'a' } }] }],
    ['an event', { type: 'ping' }],
    ['an event with a message', { type: 'message_start', message: { id: 'x' } }],
    ['vectors', { object: 'list', data: [{ embedding: [1] }], code: 0, message: 'ok' }],
    ['an answer of Ollama', { message: { role: 'assistant', content: 'a' }, done: false }],
    ['scores', [{ index: 0, score: 0.5 }]],
    ['success', { code: 200, message: 'success' }],
  ])('is not %s', (_name, answer) => {
    expect(errorIn(answer)).toBeUndefined();
  });
});

describe('an event of a stream', () => {
  test.each<[string, string, Expected]>([
    ['plain text', 'Internal server error', { kind: 'overloaded', says: 'Internal server error' }],
    ['a text of DashScope', '<429> Too many requests', { kind: 'rate-limit', says: 'Too many' }],
    ['a failure', 'The engine failed.', { kind: 'invalid-request', says: 'The engine failed.' }],
    [
      'an array',
      '[{"error":{"code":429,"message":"Slow down"}}]',
      { kind: 'rate-limit', says: 'Slow down' },
    ],
  ])('that is %s is an error that says so', (_name, data, { kind, says }) => {
    expect(() => parseRecord(data, secrets)).toThrow(
      expect.objectContaining({ kind, message: expect.stringContaining(says ?? '') }),
    );
  });

  test.each(['{"choi', 'tok0 tok1', '7'])('that is %s does not follow the protocol', (data) => {
    expect(() => parseRecord(data, secrets)).toThrow(expect.objectContaining({ kind: 'protocol' }));
  });
});
