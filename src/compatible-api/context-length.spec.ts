import { describe, expect, it } from '@jest/globals';
import { english, msg } from '../platform/message/index.js';
import { UpstreamError } from '../provider/index.js';
import { withParameter } from './answer/api.request.js';
import { anthropicFailure } from './anthropic/anthropic.errors.js';
import { CompletionRequest } from './openai/chat-completions.protocol.js';
import { openAiFailure } from './openai/openai.errors.js';
import { ResponsesRequest } from './openai/responses/responses.protocol.js';

const LEAD = msg`The request is too large for the provider (413). Shorten the conversation.`;

function failureWith(vendorText: string, status?: number) {
  const message = vendorText === '' ? LEAD : msg`${LEAD} It said: ${vendorText}`;
  const error = new UpstreamError({
    kind: 'context-length',
    message,
    ...(status !== undefined && { status }),
    ...(vendorText !== '' && { vendorText }),
  });
  return { code: 500, message: error.message, error } as const;
}

const OPENAI_TEXT = 'This model’s maximum context length is 8192 tokens.';
const ANTHROPIC_TEXT = 'prompt is too long: 210000 tokens > 200000 maximum';

describe('a request that is longer than the context window', () => {
  it.each([
    [OPENAI_TEXT, 400],
    [ANTHROPIC_TEXT, 413],
    ['', undefined],
  ])('has the code of OpenAI with the text of the service: %s (%s)', (text, status) => {
    expect(openAiFailure(failureWith(text, status))).toMatchObject({
      status: 400,
      body: {
        error: {
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
          message: expect.stringContaining(text),
        },
      },
    });
  });

  it.each(['messages', 'input'])('names the parameter that has it: %s', (messages) => {
    const failure = failureWith(OPENAI_TEXT);
    const { names } = CompletionRequest.of({ model: 'm', messages: [{ role: 'user' }] });
    const error = withParameter(failure.error, { ...names, messages });
    expect(openAiFailure({ ...failure, error })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded', param: messages } },
    });
  });

  it.each([
    [OPENAI_TEXT, `prompt is too long: ${OPENAI_TEXT}`],
    [ANTHROPIC_TEXT, ANTHROPIC_TEXT],
    ['', `prompt is too long: ${english(LEAD)}`],
  ])('begins as that of Anthropic does: %s', (text, message) => {
    expect(anthropicFailure(failureWith(text, 413))).toMatchObject({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message } },
    });
  });

  it('has that code in a response that has failed', () => {
    const model = 'm';
    const context = { earlier: [], requestItems: [], hasStored: false, keep: undefined };
    const request = new ResponsesRequest({ model }, { model, input: 'x' }, context);
    expect(request.failureEvent(failureWith(OPENAI_TEXT))).toContain(
      '"error":{"code":"context_length_exceeded"',
    );
  });

  it('is the same as the last event of a stream', () => {
    const request = CompletionRequest.of({ model: 'm', messages: [{ role: 'user' }] });
    expect(request.failureEvent(failureWith(OPENAI_TEXT))).toContain(
      '"code":"context_length_exceeded"',
    );
  });
});
