export { Dependencies, DependencyModule } from './dependencies.js';
export { Dependency } from './dependency.js';
export { withLimit } from './with-limit.js';
