export { childEnvironment } from './child-environment.js';
export { CONFIG, keyId, loadConfig } from './config.js';
export { ConfigError } from './config-error.js';
export type { Config } from './config.js';
export { ConfigModule } from './config.module.js';
export { dataDirProblem } from './data-dir.js';
export { hideVariables } from './hide-variables.js';
export { variableGroups, variables } from './config.schema.js';
export type { Variable } from './variable.js';
