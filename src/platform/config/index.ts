export { CONFIG, ConfigError, keyId, loadConfig } from './config.js';
export type { Config } from './config.js';
export { ConfigModule } from './config.module.js';
export { variables } from './config.schema.js';
export type { Variable } from './variable.js';
