export { ApiKeyModule } from './api-key.module.js';
