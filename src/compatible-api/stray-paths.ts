import type { FailureShape } from '../platform/error/index.js';
import { anthropicFailure } from './anthropic/anthropic.errors.js';
import { pathAdvice } from './answer/api.errors.js';
import { openAiFailure } from './openai/openai.errors.js';

// Addresses of clients whose base address lacks /v1, has it twice, or has the path of another service before it.

/** Path prefixes that other services put before the protocol paths. */
const BEFORE = String.raw`(?:\/(?:openai|anthropic|api|ollama|compatible-mode|inference|paas|v\d+))*`;

const OPENAI = [
  ...['chat/completions', 'completions', 'responses', 'conversations', 'embeddings', 'rerank'],
  ...['models', 'engines', 'images/(?:generations|edits|variations)', 'moderations'],
  ...['audio/(?:speech|transcriptions|translations)', 'files', 'uploads', 'batches'],
  ...['vector_stores', 'assistants', 'threads', 'fine_tuning'],
].join('|');

const OLLAMA = 'chat|generate|tags|show|ps|version|embed|embeddings';

/** Paths of the Messages interface without /v1, or with too much before it. */
export const strayMessages: FailureShape = {
  paths: new RegExp(String.raw`^(?:${BEFORE}\/(?:messages|complete)|\/anthropic)(?:\/|$)`, 'i'),
  answer: anthropicFailure,
  advice: pathAdvice,
};

/** Stray paths of the OpenAI, Azure and Ollama interfaces. */
export const strayOpenAi: FailureShape = {
  paths: new RegExp(
    String.raw`^(?:${BEFORE}\/(?:${OPENAI})|\/(?:openai|ollama|compatible-mode)|\/api\/(?:${OLLAMA}))(?:\/|$)`,
    'i',
  ),
  answer: openAiFailure,
  advice: pathAdvice,
  pages: /^\/(?:models|files)(?:\/|$)/i,
};
