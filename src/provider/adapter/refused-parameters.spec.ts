import { describe, expect, it, test } from '@jest/globals';
import { AdaptedBody } from './refused-parameters.js';

// Refusals in the wording of public reports, each named after its service: issues of Azure/azure-sdk-for-net (45719), run-llama/llama_index
// (20865), FlowiseAI/Flowise (2866), partITech/php-mistral (76), BerriAI/litellm (13609, 37470), cloudwego/eino (994) and
// anthropics/anthropic-sdk-python (739). Those of services without a report there have the form of their error reference.

const MESSAGES = [{ role: 'user', content: 'Hello' }];

function openAi(message: string, param: string | null, code: string | null): unknown {
  return { error: { message, type: 'invalid_request_error', param, code } };
}

function adapted(body: Record<string, unknown>, refusal: unknown): AdaptedBody {
  const result = new AdaptedBody({ model: 'm', messages: MESSAGES, ...body });
  result.adapt(typeof refusal === 'string' ? refusal : JSON.stringify(refusal));
  return result;
}

const USAGE = { stream_options: { include_usage: true } };
const LIMIT = { max_tokens: 100 };

describe('a parameter that is refused by name is left out', () => {
  test.each<[string, Record<string, unknown>, unknown, Record<string, unknown>]>([
    [
      'Azure, older',
      USAGE,
      openAi('Unrecognized request argument supplied: stream_options', null, null),
      { stream_options: '' },
    ],
    [
      'Fireworks',
      USAGE,
      {
        error: {
          object: 'error',
          type: 'invalid_request_error',
          message:
            "Extra inputs are not permitted, field: 'stream_options', value: {'include_usage': True}",
        },
      },
      { stream_options: '' },
    ],
    [
      'FastAPI',
      USAGE,
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: { include_usage: true },
          },
        ],
      },
      { stream_options: '' },
    ],
    [
      'Mistral',
      USAGE,
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'stream_options'],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
        type: 'invalid_request_error',
      },
      { stream_options: '' },
    ],
    [
      'pydantic as text',
      USAGE,
      '1 validation error for ChatRequest\nstream_options\n  Extra inputs are not permitted [type=extra_forbidden, input_value={}]',
      { stream_options: '' },
    ],
    ['Go', USAGE, { error: 'json: unknown field "stream_options"' }, { stream_options: '' }],
    [
      'Rust',
      { ...USAGE, temperature: 1, top_p: 1 },
      {
        error:
          'unknown field `stream_options`, expected one of `model`, `messages`, `temperature`, `top_p` at line 1 column 90',
      },
      { stream_options: '' },
    ],
    [
      'Python',
      USAGE,
      { error: { message: "generate() got an unexpected keyword argument 'stream_options'" } },
      { stream_options: '' },
    ],
    [
      'Bedrock',
      USAGE,
      {
        message:
          'Malformed input request: #: extraneous key [stream_options] is not permitted, please reformat your input and try again.',
      },
      { stream_options: '' },
    ],
    [
      'OpenAI, reasoning models',
      { temperature: 0.2 },
      openAi(
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        'temperature',
        'unsupported_value',
      ),
      { temperature: '' },
    ],
    [
      'Anthropic, newest',
      { temperature: 0.2, thinking: { type: 'adaptive' } },
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: '`temperature` is deprecated for this model.',
        },
      },
      { temperature: '' },
    ],
    [
      'Kimi',
      { temperature: 0.2 },
      openAi('invalid temperature: only 1 is allowed for this model', null, null),
      { temperature: '' },
    ],
    [
      'OpenAI, o4-mini',
      { parallel_tool_calls: false },
      openAi(
        "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
        'parallel_tool_calls',
        'unsupported_parameter',
      ),
      { parallel_tool_calls: '' },
    ],
    [
      'Cerebras',
      { parallel_tool_calls: false },
      { message: "property 'parallel_tool_calls' is unsupported", type: 'invalid_request_error' },
      { parallel_tool_calls: '' },
    ],
    [
      'Gemini',
      { parallel_tool_calls: false },
      [
        {
          error: {
            code: 400,
            message:
              'Invalid JSON payload received. Unknown name "parallel_tool_calls": Cannot find field.',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      { parallel_tool_calls: '' },
    ],
    [
      'xAI',
      { presence_penalty: 1 },
      {
        code: 'Client specified an invalid argument',
        error: 'Argument not supported on this model: presencePenalty',
      },
      { presence_penalty: '' },
    ],
    [
      'LiteLLM, two at once',
      { parallel_tool_calls: false, seed: 1 },
      openAi(
        "litellm.UnsupportedParamsError: bedrock does not support parameters: ['parallel_tool_calls', 'seed'], for model=x. To drop these, set `litellm.drop_params=True`",
        null,
        '400',
      ),
      { parallel_tool_calls: '', seed: '' },
    ],
    [
      'Voyage',
      { encoding_format: 'float' },
      {
        detail:
          "Value 'float' supplied for argument 'encoding_format' is not valid -- accepted values are ['base64', null].",
      },
      { encoding_format: '' },
    ],
    [
      'a value of several',
      { reasoning_effort: 'minimal' },
      openAi(
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
        'reasoning_effort',
        'unsupported_value',
      ),
      { 'reasoning_effort=minimal': '' },
    ],
    [
      'all values',
      { reasoning_effort: 'low' },
      openAi(
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        'reasoning_effort',
        'unsupported_parameter',
      ),
      { reasoning_effort: '' },
    ],
    [
      'responses',
      { reasoning: { effort: 'low' } },
      openAi(
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        'reasoning.effort',
        'unsupported_parameter',
      ),
      { 'reasoning.effort': '' },
    ],
    [
      'Anthropic, two at once',
      { temperature: 0.2, top_p: 0.9 },
      {
        error: {
          message:
            '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
        },
      },
      { 'top_p beside temperature': '' },
    ],
    [
      'a key of a tool',
      { tools: [{ name: 'a', input_schema: {}, strict: true }] },
      { error: { message: 'tools.0.custom.strict: Extra inputs are not permitted' } },
      { strict: '' },
    ],
    [
      'in Chinese',
      { top_p: 0.5 },
      { error: { code: '1210', message: '当前模型不支持参数 top_p' } },
      { top_p: '' },
    ],
  ])('%s', (_name, body, refusal, learned) => {
    const { body: sent, learned: found } = adapted(body, refusal);
    expect(Object.fromEntries(found)).toEqual(learned);
    expect(sent).not.toEqual({ model: 'm', messages: MESSAGES, ...body });
    // A further call starts from the finding.
    const next = new AdaptedBody({ model: 'm', messages: MESSAGES, ...body }, found);
    expect(next.body).toEqual(sent);
  });

  it('and reported, unless it only optimises', () => {
    const silent = adapted(USAGE, { error: 'unknown field "stream_options"' });
    expect(silent.leftOut).toEqual([]);
    const said = adapted({ temperature: 0.2 }, { error: "'temperature' is not supported" });
    expect(said.leftOut).toEqual(['temperature']);
    const later = new AdaptedBody({ temperature: 0.2 }, said.learned);
    expect(later.leftOut).toEqual(['temperature']);
    expect(new AdaptedBody({ seed: 1 }, said.learned).leftOut).toEqual([]);
  });

  it('unless the caller wants each of them honoured', () => {
    const known = new Map([
      ['seed', ''],
      ['stream_options', ''],
      ['max_tokens', 'max_completion_tokens'],
    ]);
    const asked = { model: 'm', seed: 1, temperature: 0.2, max_tokens: 9, ...USAGE };
    const strict = new AdaptedBody(asked, known, { isStrict: true });
    expect(strict.adapt("'temperature' is not supported")).toBe(false);
    expect([strict.body, strict.leftOut]).toEqual([
      { model: 'm', seed: 1, temperature: 0.2, max_completion_tokens: 9 },
      [],
    ]);
  });

  test.each([
    // openai: BittnerPierre/AI-Agent-Casebook issue 133; xAI: lidge-jun/opencodex 5278 and BerriAI/litellm 12635.
    openAi("Unsupported parameter: 'stop' is not supported with this model.", 'stop', null),
    { code: 'invalid-argument', error: 'Model grok-4.6 does not support parameter stop.' },
    { code: '400', error: 'Argument not supported on this model: stop' },
  ])('stop sequences only where the caller sees to them: %j', (refusal) => {
    const text = JSON.stringify(refusal);
    const asked = { model: 'm', messages: MESSAGES, stop: ['END'] };
    const seenTo = new AdaptedBody(asked, undefined, { optional: ['stop'], isStrict: true });
    expect([seenTo.adapt(text), seenTo.leftOut]).toEqual([true, []]);
    expect(seenTo.body).not.toHaveProperty('stop');
    expect(new AdaptedBody(asked).adapt(text)).toBe(false);
    expect(new AdaptedBody(asked, seenTo.learned).body).toEqual(asked);
  });

  it('the number of dimensions, whatever a refusal says, only where the caller can do without', () => {
    const asked = { model: 'm', input: ['a'], dimensions: 9 };
    // SiliconFlow, code 20015 of its error reference, 2026-11.
    const unnamed = '{"code":20015,"message":"The parameter is invalid. Please check again."}';
    const optional = ['dimensions'];
    const guessed = new AdaptedBody(asked, undefined, { optional });
    expect(guessed.adapt(unnamed, 500)).toBe(false);
    expect(guessed.adapt('{"message":"batch size is invalid"}', 400)).toBe(false);
    expect([guessed.adapt(unnamed, 400), [...guessed.learned]]).toEqual([
      true,
      [['dimensions', '']],
    ]);
    expect(guessed.body).not.toHaveProperty('dimensions');
    // A client has asked for another size than that of the record.
    expect(new AdaptedBody(asked).adapt(unnamed, 400)).toBe(false);
    expect(new AdaptedBody(asked, guessed.learned).body).toEqual(asked);
  });

  it('for this request alone where the refusal says so', () => {
    const refusal = openAi(
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
      null,
      'invalid_parameter_error',
    );
    for (const tool_choice of ['required', { type: 'function', function: { name: 'a' } }]) {
      const { body, learned, leftOut } = adapted({ tool_choice, enable_thinking: true }, refusal);
      expect(body).not.toHaveProperty('tool_choice');
      expect(body).toHaveProperty('enable_thinking', true);
      expect([learned.size, leftOut]).toEqual([0, ['tool_choice']]);
    }
    const deepSeek = adapted(
      { tool_choice: 'required' },
      openAi('Thinking mode does not support this tool_choice', null, 'invalid_request_error'),
    );
    expect(deepSeek.leftOut).toEqual(['tool_choice']);
  });
});

describe('what has two names is sent under the other', () => {
  const NEWER = openAi(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'max_tokens',
    'unsupported_parameter',
  );

  it('as the limit of an answer', () => {
    const { body, learned, leftOut } = adapted(LIMIT, NEWER);
    expect(body).toEqual({ model: 'm', messages: MESSAGES, max_completion_tokens: 100 });
    expect([Object.fromEntries(learned), leftOut]).toEqual([
      { max_tokens: 'max_completion_tokens' },
      [],
    ]);
    const older = adapted(
      { max_completion_tokens: 100 },
      { error: 'Unrecognized request argument supplied: max_completion_tokens' },
    );
    expect(older.body).toMatchObject(LIMIT);
    expect(new AdaptedBody({ max_completion_tokens: 9 }, older.learned).body).toEqual({
      max_tokens: 9,
    });
  });

  it('but not back and forth', () => {
    const one = adapted(LIMIT, NEWER);
    expect(one.adapt('{"error":"max_completion_tokens is not supported"}')).toBe(true);
    expect(one.adapt(JSON.stringify(NEWER))).toBe(false);
  });

  test.each([
    [
      'DeepSeek',
      'Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool` at line 1 column 40',
    ],
    [
      'DashScope',
      "<400> InternalError.Algo.InvalidParameter: developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.0.role'",
    ],
    ['a chat template', 'Unexpected message role.'],
    [
      'Mistral',
      "Input tag 'developer' found using 'role' does not match any of the expected tags: 'system', 'user', 'assistant', 'tool'",
    ],
  ])('as the role of instructions: %s', (_name, message) => {
    const messages = [{ role: 'developer', content: 'Be brief.' }, ...MESSAGES];
    const { body, learned } = adapted({ messages }, openAi(message, null, null));
    expect(body).toMatchObject({
      messages: [{ role: 'system', content: 'Be brief.' }, ...MESSAGES],
    });
    expect(Object.fromEntries(learned)).toEqual({ role: 'system' });
  });

  it('as the role of instructions of early reasoning models', () => {
    const messages = [{ role: 'system', content: 'Be brief.' }, ...MESSAGES];
    const refusal = openAi(
      "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
      'messages[0].role',
      'unsupported_value',
    );
    expect(adapted({ messages }, refusal).body).toMatchObject({
      messages: [{ role: 'developer' }, {}],
    });
  });
});

describe('nothing is left out', () => {
  test.each<[string, Record<string, unknown>, unknown]>([
    [
      'for a value that is too large',
      LIMIT,
      openAi(
        'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
        'max_tokens',
        'invalid_value',
      ),
    ],
    [
      'for a value out of range',
      { temperature: 3 },
      openAi(
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
        'temperature',
        'decimal_above_max_value',
      ),
    ],
    [
      'for a range',
      { top_p: 3 },
      { error: { message: 'unexpected top_p: the value must be between 0 and 1' } },
    ],
    [
      'that changes what was asked',
      { response_format: { type: 'json_object' }, stop: ['x'], tools: [{}], n: 2 },
      openAi(
        "Unsupported parameter: 'response_format', 'stop', 'tools' and 'n' are not supported with this model.",
        'response_format',
        'unsupported_parameter',
      ),
    ],
    [
      'that the body does not have',
      { top_p: 1 },
      openAi(
        "Unsupported parameter: 'temperature' is not supported with this model.",
        'temperature',
        'unsupported_parameter',
      ),
    ],
    [
      'of a schema',
      { temperature: 1 },
      openAi('tools.0.input_schema.properties.temperature: type is not supported', null, null),
    ],
    [
      'for an ordinary word',
      { user: 'u', store: true },
      { error: { message: 'The user is not allowed to store anything here.' } },
    ],
    [
      'of a message',
      { temperature: 1 },
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'messages', 0, 'temperature'],
            msg: 'Extra inputs are not permitted',
          },
        ],
      },
    ],
    ['for another reason', { temperature: 1 }, { error: { message: 'The model does not exist.' } }],
  ])('%s', (_name, body, refusal) => {
    const result = adapted(body, refusal);
    expect(result.body).toEqual({ model: 'm', messages: MESSAGES, ...body });
    expect(result.learned.size).toBe(0);
  });
});

it('of the responses protocol, store is sent whatever the service says, which would store the answer without it', () => {
  const refusal = openAi("Unsupported parameter: 'store'", 'store', 'unsupported_parameter');
  const body = { model: 'm', input: 'Hello', store: false };
  const result = new AdaptedBody(body, new Map([['store', '']]));
  expect(result.adapt(JSON.stringify(refusal))).toBe(false);
  expect(result.body).toEqual(body);
  expect(adapted({ store: false }, refusal).body).toEqual({ model: 'm', messages: MESSAGES });
});

describe('states that a service no longer accepts are left out once', () => {
  const history = [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'x' },
        { type: 'tool_use', id: '1', name: 'a', input: {} },
      ],
    },
  ];

  it('of the messages protocol', () => {
    const refusal = {
      error: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
    };
    const { body, learned } = adapted(
      { messages: history, thinking: { type: 'adaptive' } },
      refusal,
    );
    expect(body).toEqual({
      model: 'm',
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'a', input: {} }] },
      ],
    });
    expect(learned.size).toBe(0);
  });

  it('of responses and of Gemini', () => {
    const input = [
      { type: 'reasoning', encrypted_content: 'x' },
      { type: 'message', role: 'user' },
    ];
    const refusal = openAi(
      'The encrypted content gAAA could not be verified.',
      null,
      'invalid_encrypted_content',
    );
    expect(adapted({ input }, refusal).body).toMatchObject({ input: [{ type: 'message' }] });
    const messages = [
      {
        role: 'assistant',
        tool_calls: [{ id: '1', extra_content: { google: { thought_signature: 'x' } } }],
      },
    ];
    const corrupted = [{ error: { code: 400, message: 'Corrupted thought signature.' } }];
    expect(adapted({ messages }, corrupted).body).toMatchObject({
      messages: [{ tool_calls: [{ id: '1' }] }],
    });
    expect(JSON.stringify(adapted({ messages }, corrupted).body)).not.toContain('extra_content');
  });
});
