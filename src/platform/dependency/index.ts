export { Dependencies, DependencyModule } from './dependencies.js';
export { Dependency, DependencyFault } from './dependency.js';
export { unlessAborted, withLimit } from './with-limit.js';
