import { anthropicFailures, anthropicModelFailures } from './anthropic/anthropic.errors.js';
import { openAiFailures } from './openai/openai.errors.js';
import { strayMessages, strayOpenAi } from './stray-paths.js';

export { AnthropicFailureView } from './anthropic/anthropic.view.js';
export { azurePaths } from './azure-paths.js';
export { DoorModule } from './door.module.js';
export { OpenAiFailureView } from './openai/openai.view.js';
export { anthropicFailures, anthropicModelFailures, openAiFailures };

/** How the doors answer failures; the first whose paths fit counts. */
export const DOOR_FAILURES = [
  strayMessages,
  anthropicFailures,
  anthropicModelFailures,
  openAiFailures,
  strayOpenAi,
] as const;
