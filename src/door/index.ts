export { DoorModule } from './door.module.js';
export { openAiFailures } from './openai/openai.errors.js';
export { OpenAiFailureView } from './openai/openai.view.js';
