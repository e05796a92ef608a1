import { anthropicFailures, anthropicSharedFailures } from './anthropic/anthropic.errors.js';
import { geminiFailures } from './gemini/gemini.errors.js';
import { openAiFailures } from './openai/openai.errors.js';
import { strayMessages, strayOpenAi } from './stray-paths.js';

export { AnthropicFailureView } from './anthropic/anthropic.view.js';
export { doorAddresses } from './door-addresses.js';
export { DoorModule } from './door.module.js';
export { GeminiFailureView } from './gemini/gemini.view.js';
export { OpenAiFailureView } from './openai/openai.view.js';
export { anthropicFailures, anthropicSharedFailures, geminiFailures, openAiFailures };

/** How the doors answer failures; the first whose paths fit counts. */
export const DOOR_FAILURES = [
  strayMessages,
  anthropicFailures,
  anthropicSharedFailures,
  openAiFailures,
  geminiFailures,
  strayOpenAi,
] as const;
