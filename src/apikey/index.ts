export { ApiKeyModule } from './api-key.module.js';
export { ApplicationKeys, KEY_SECONDS } from './application-keys.js';
