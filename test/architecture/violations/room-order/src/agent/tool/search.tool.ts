export { toolsRuntime } from '../runtime/tools.runtime.js';
