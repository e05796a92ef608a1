import { expect, it } from '@jest/globals';
import { literal } from '../platform/message/index.js';
import { UpstreamError } from '../provider/index.js';
import { smallerBatch } from './model.findings.js';

function refusal(vendorText: string, status = 400): UpstreamError {
  const message = literal(vendorText);
  return new UpstreamError({ kind: 'invalid-request', status, message, vendorText });
}

/** As the services word it; from their references and from reports of 2025 and 2026. */
it.each([
  [
    'DashScope',
    64,
    10,
    '<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents',
  ],
  [
    'DashScope native',
    64,
    25,
    'batch size is invalid, it should not be larger than 25.: payload.input.contents',
  ],
  ['Text Embeddings Inference', 64, 32, 'batch size 64 > maximum allowed batch size 32'],
  ['SiliconFlow', 136, 64, 'input batch size 136 > maximum allowed batch size 64'],
  [
    'Gemini',
    512,
    100,
    '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n',
  ],
  ['Cohere', 128, 96, 'invalid request: total number of texts must be at most 96 - received 128'],
  [
    'Azure OpenAI of old',
    16,
    1,
    'Too many inputs. The max number of inputs is 1. We hope to increase the number of inputs per request soon.',
  ],
  ['OpenAI', 3_000, 2_048, "'$.input' is invalid. array length must be 2048 or less."],
  ['Zhipu', 128, 64, 'input数组最大不得超过64条'],
  ['pydantic', 200, 128, 'List should have at most 128 items after validation, not 200'],
  ['Voyage', 2_000, 1_000, 'The batch size limit is 1000. Your batch size is 2000.'],
  ['Volcano Ark', 500, 256, 'the number of inputs exceeds the limit 256'],
])('%s: of %d texts %d go on', (_service, sent, size, text) => {
  expect(smallerBatch(refusal(text), sent)).toEqual({ size, isLimit: true });
});

it.each([
  ['Too many inputs in request, split into more batches.', 400],
  ['Too many tokens in batch. Max is 16384 got 20000', 400],
  [
    'The max allowed tokens per submitted batch is 120000. Your batch has 121138 tokens after truncation. Please lower the number of tokens in the batch.',
    400,
  ],
  ['Invalid input: maximum request size is 300000 tokens per request.', 400],
  ['Request Entity Too Large', 413],
])('%s: half of the texts go on, which is kept for no other call', (text, status) => {
  expect(smallerBatch(refusal(text, status), 65)).toEqual({ size: 33, isLimit: false });
});

it.each([
  ["Invalid 'input[22]': maximum input length is 8192 tokens."],
  ["This model's maximum context length is 512 tokens, however you requested 600 tokens."],
  ['`inputs` must have less than 512 tokens. Given: 600'],
  ["Argument 'encoding_format' is not supported by our API"],
  ['The model sim does not exist'],
  [''],
])('%s: fewer texts do not help', (text) => {
  expect(smallerBatch(refusal(text), 64)).toBeUndefined();
});

it('a single text and other failures are not divided', () => {
  expect(smallerBatch(refusal('batch size must be at most 1'), 1)).toBeUndefined();
  const vendorText = 'batch size must be at most 10';
  const message = literal(vendorText);
  const failure = new UpstreamError({ kind: 'overloaded', retryable: true, message, vendorText });
  expect(smallerBatch(failure, 64)).toBeUndefined();
  expect(smallerBatch(new Error('batch size must be at most 10'), 64)).toBeUndefined();
});
