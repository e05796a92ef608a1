export { ConsoleFiles } from './console-files.js';
export { ConsoleModule } from './console.module.js';
