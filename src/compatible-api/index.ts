import { anthropicFailures, anthropicSharedFailures } from './anthropic/anthropic.errors.js';
import { geminiFailures } from './gemini/gemini.errors.js';
import { openAiFailures } from './openai/openai.errors.js';
import { strayMessages, strayOpenAi } from './stray-paths.js';

export { ApiAnswers } from './answer/api-answers.js';
export type { AnswerWriter, ApiRequest } from './answer/api.request.js';
export { CollectedAnswer } from './answer/collected-answer.js';
export { AnthropicFailureView } from './anthropic/anthropic.view.js';
export { pathRewrites, REWRITTEN_PATHS } from './path-rewrites.js';
export { CompatibleApiModule } from './compatible-api.module.js';
export { GeminiFailureView } from './gemini/gemini.view.js';
export { OpenAiFailureView } from './openai/openai.view.js';
export { anthropicFailures, anthropicSharedFailures, geminiFailures, openAiFailures };

/** How the compatible APIs answer failures; the first entry whose paths match applies. */
export const COMPATIBLE_API_FAILURES = [
  strayMessages,
  anthropicFailures,
  anthropicSharedFailures,
  openAiFailures,
  geminiFailures,
  strayOpenAi,
] as const;
