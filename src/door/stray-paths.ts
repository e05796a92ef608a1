import type { FailureShape } from '../platform/error/index.js';
import { anthropicFailure } from './anthropic/anthropic.errors.js';
import { pathAdvice } from './answer/path-advice.js';
import { openAiFailure } from './openai/openai.errors.js';

// Addresses of clients whose base address lacks /v1, has it twice, or has the path of another service before it.

/** Paths of the Messages interface without /v1, or with too much before it. */
export const strayMessages: FailureShape = {
  paths: /^\/(?:v1\/v1\/messages|messages|complete|anthropic|api\/v1\/messages)(\/|$)/i,
  answer: anthropicFailure,
  advice: pathAdvice,
};

/** The same of the interfaces of OpenAI, Azure, Ollama and MCP. */
export const strayOpenAi: FailureShape = {
  paths:
    /^\/(?:chat\/completions|completions|responses|conversations|embeddings|rerank|models|engines|images\/(?:generations|edits|variations)|audio\/(?:speech|transcriptions|translations)|files|uploads|batches|moderations|vector_stores|assistants|threads|fine_tuning|openai|api\/(?:v1|chat|generate|tags|show|ps|version|embed|embeddings)|mcp$|mcp\/$)(\/|$)/i,
  answer: openAiFailure,
  advice: pathAdvice,
  pages: /^\/(?:models|files)(\/|$)/i,
};
